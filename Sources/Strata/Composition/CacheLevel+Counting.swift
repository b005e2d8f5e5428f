extension CacheLevel {
    /// The level that counts: this one, or what it stands around.
    var counting: (any CountedLevel)? {
        switch self {
        case let counted as any CountedLevel: counted
        case let wrapping as any WrappingLevel: wrapping.base.counting
        case let erased as AnyLevel<Key, Value>: erased.base.counting
        default: nil
        }
    }
}
