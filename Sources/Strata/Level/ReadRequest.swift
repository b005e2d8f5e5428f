/// What a read carries down through the levels.
public struct ReadRequest: Sendable {
    /// Takes down what happens on the way; `nil` when nobody wants to know.
    public var recorder: ReceiptRecorder?

    /// An ordinary read.
    @inlinable
    public init(recorder: ReceiptRecorder? = nil) {
        self.recorder = recorder
    }
}
