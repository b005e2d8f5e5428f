/// What a read carries down through the levels.
public struct ReadRequest: Sendable {
    /// Takes down what happens on the way; `nil` when nobody wants to know.
    public var recorder: ReceiptRecorder?
    /// Whether a read of several keys goes on without those that fail; they then come back as `nil`.
    ///
    /// Otherwise the first failure ends the read. Has no meaning for a single key.
    public var leavesOutFailures: Bool

    /// An ordinary read.
    @inlinable
    public init(recorder: ReceiptRecorder? = nil, leavesOutFailures: Bool = false) {
        self.recorder = recorder
        self.leavesOutFailures = leavesOutFailures
    }
}
