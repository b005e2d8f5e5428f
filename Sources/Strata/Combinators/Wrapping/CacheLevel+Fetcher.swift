extension CacheLevel {
    /// Whether it is a source, or stands around one and holds nothing itself.
    var isFetcher: Bool {
        switch self {
        case is any Fetcher: true
        // One that writes may hold what the source has not got.
        case let wrapping as any WrappingLevel: !writesSource && wrapping.base.isFetcher
        case let erased as AnyLevel<Key, Value>: erased.base.isFetcher
        default: false
        }
    }
}
