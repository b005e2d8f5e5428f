/// What kinds of replies a command has; an error is always one.
///
/// Another kind is another command's reply: nothing that comes after it on that connection can be trusted.
struct ReplyKinds: OptionSet, Sendable {
    let rawValue: UInt8

    static let status = ReplyKinds(rawValue: 1)
    static let integer = ReplyKinds(rawValue: 2)
    static let bytes = ReplyKinds(rawValue: 4)
    static let null = ReplyKinds(rawValue: 8)
    static let array = ReplyKinds(rawValue: 16)
    /// Not a kind: the reply may be larger than ``ReplyLimits/ordinary``.
    static let large = ReplyKinds(rawValue: 32)

    static let any: ReplyKinds = [.status, .integer, .bytes, .null, .array, .large]
    static let value: ReplyKinds = [.bytes, .null, .large]
    static let list: ReplyKinds = [.array, .large]

    @inline(__always)
    func admit(_ reply: RESPValue) -> Bool {
        switch reply {
        case .error: true
        case .status: contains(.status)
        case .integer: contains(.integer)
        case .bytes, .oversized: contains(.bytes)
        case .null: contains(.null)
        case .array: contains(.array)
        }
    }
}
