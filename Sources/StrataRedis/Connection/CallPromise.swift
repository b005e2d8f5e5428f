/// The receiver of a call's outcome.
enum CallPromise: Sendable {
    /// A task that waits.
    case task(UnsafeContinuation<RESPValue, any Error>)
    /// A function that is called on the I/O thread; it must not block.
    case callback(@Sendable (Result<RESPValue, RedisError>) -> Void)

    /// Whether the call is the client's own: no caller waits for it.
    var isOwn: Bool {
        if case .callback = self { true } else { false }
    }

    @inline(__always)
    func complete(with outcome: Result<RESPValue, RedisError>) {
        switch self {
        case .task(let continuation):
            switch outcome {
            case .success(let reply): continuation.resume(returning: reply)
            case .failure(let error): continuation.resume(throwing: error)
            }
        case .callback(let function): function(outcome)
        }
    }
}
