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
