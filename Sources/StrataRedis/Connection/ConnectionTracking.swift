/// Whether the server remembers what one connection reads, and tells a link of its changes.
///
/// The server forgets it with the connection, so a new one asks for it before it takes its first call.
struct ConnectionTracking: Sendable {
    /// The number of the link's connection that is to be told; `nil` for none.
    var target: Int64?
    /// The number that the handshake of this connection has asked for.
    private(set) var asked: Int64?
    /// The number that the server has agreed to.
    private(set) var confirmed: Int64?
    /// What the server has said when it refused.
    private(set) var refusal: String?

    /// A connection is opened: its handshake asks for what is wanted now.
    mutating func begin() {
        (asked, confirmed, refusal) = (target, nil, nil)
    }

    /// The server has answered.
    ///
    /// - Parameters:
    ///   - reply: The answer.
    ///   - target: What it was asked for.
    mutating func answered(by reply: RESPValue, to target: Int64?) {
        guard case .error(let text) = reply else {
            (confirmed, refusal) = (target, nil)
            return
        }
        (confirmed, refusal) = (nil, text)
    }

    /// The connection is lost, and with it what the server remembered.
    mutating func end() {
        (asked, confirmed, refusal) = (nil, nil, nil)
    }
}
