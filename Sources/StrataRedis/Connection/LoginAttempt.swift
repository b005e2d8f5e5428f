/// Which credentials the last attempt to connect has logged in with, so that a refusal of those before says nothing of
/// those that are in force now.
struct LoginAttempt: Sendable {
    /// The number of the credentials.
    private var generation: UInt64 = 0
    /// Whether the attempt was made at once after such a refusal.
    private var isAnew = false

    /// A handshake begins.
    mutating func begins(_ handshake: Handshake) { generation = handshake.generation }

    /// Whether other credentials are in force by now.
    func isOutdated(_ handshake: Handshake) -> Bool { generation != handshake.generation }

    /// The attempt has failed, or the connection was lost.
    ///
    /// - Parameters:
    ///   - isRefused: Whether the handshake was refused.
    ///   - handshake: What the next attempt begins with.
    /// - Returns: Whether the next attempt is worth being made at once: once in a row, for a source may have other
    ///   credentials each time, and none that will do.
    mutating func failed(isRefused: Bool, _ handshake: Handshake) -> Bool {
        isAnew = isRefused && isOutdated(handshake) && !isAnew
        return isAnew
    }
}
