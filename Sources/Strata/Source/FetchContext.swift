/// What a source is told besides the key.
public struct FetchContext<Value: Sendable>: Sendable {
    /// The value that is to be replaced; `nil` when there is none.
    ///
    /// It may be stale, never one that was invalidated.
    public let old: Value?
    /// How old that value is; `nil` when that is not known.
    public let age: Duration?
    /// Who takes down what happens, if anybody does.
    public let recorder: ReadTraceRecorder?

    package init(old: Entry<Value>?, at now: MonotonicInstant, recorder: ReadTraceRecorder?) {
        self.old = old?.value
        age = old?.age(at: now)
        self.recorder = recorder
    }
}
