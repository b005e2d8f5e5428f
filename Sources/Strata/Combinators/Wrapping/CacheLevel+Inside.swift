extension CacheLevel {
    /// The level that this one stands around; `nil` for one that stands around none, or around several.
    private var inside: (any CacheLevel)? {
        switch self {
        case let wrapping as any WrappingLevel: wrapping.base
        case let erased as AnyLevel<Key, Value>: erased.base
        default: nil
        }
    }

    /// This level, or the innermost one that it stands around.
    var counting: (any CountedLevel)? { self as? any CountedLevel ?? inside?.counting }

    /// Whether it is a source, or stands around one and holds nothing itself.
    ///
    /// A level that writes may hold what the source has not got.
    var isFetcher: Bool { self is any Fetcher || !writesSource && inside?.isFetcher == true }
}
