#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// How the entries of one cache lie in a file, and which level can tell later whether they still hold.
struct HibernationForm<Key: KeyRepresentable, Value: Sendable>: Sendable {
    /// A name that no other cache has.
    let name: [UInt8]
    let codec: Codec<Value>
    let place: @Sendable (Key) -> [UInt8]
    /// The level below that can confirm; `nil` where none can.
    let confirming: (any ConfirmingLevel<Key, Value>)?

    /// - Parameters:
    ///   - lower: What lies below memory.
    ///   - codec: What the caller has given.
    /// - Throws: ``HibernationError/Code/noCodec``.
    init(below lower: some CacheLevel<Key, Value>, codec: Codec<Value>?) throws(HibernationError) {
        let confirming = lower as? any ConfirmingLevel<Key, Value>
        if let confirming, let found = confirming.confirmation {
            name = found.name
            self.codec = codec ?? found.codec
            place = found.place
            self.confirming = confirming
            return
        }
        guard let codec else {
            throw HibernationError(.noCodec, "no level below memory has a codec: name one")
        }
        name = Array("\(TypeName.of(Key.self)) \(TypeName.of(Value.self))".utf8)
        self.codec = codec
        place = { $0.keyBytes }
        self.confirming = nil
    }
}

/// The clock by which machines agree, more or less, on what time it is.
///
/// Used only by what has to outlive a process and has no other clock to go by.
enum WallTime {
    /// Milliseconds since 1970.
    static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
