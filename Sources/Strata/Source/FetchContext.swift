/// What a source gets besides the key.
public struct FetchContext<Value: Sendable>: Sendable {
    /// The value that the answer replaces; `nil` when there is none.
    ///
    /// It may be stale. It was never invalidated.
    public let old: Value?
    /// How old that value is; `nil` when that is not known.
    public let age: Duration?
    /// Records the steps of the read, if its caller wants a trace.
    public let recorder: ReadTraceRecorder?

    package init(old: Value?, age: Duration?, recorder: ReadTraceRecorder?) {
        self.old = old
        self.age = age
        self.recorder = recorder
    }

    package init(old: Entry<Value>?, at now: MonotonicInstant, recorder: ReadTraceRecorder?) {
        self.old = old?.value
        age = old?.age(at: now)
        self.recorder = recorder
    }
}
