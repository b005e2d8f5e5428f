/// Work that waits for the system, done on a thread of its own.
///
/// For what is done seldom: a thread costs some tens of microseconds.
package enum Blocking {
    /// The system gives no thread.
    package struct NoThread: Error {}

    /// The result of `body`; the task is suspended meanwhile, and its cancellation does not end the work.
    ///
    /// - Throws: What `body` throws; ``NoThread``.
    package static func run<Result: Sendable>(
        name: String,
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let status = NativeThread.start(name: name) {
                continuation.resume(with: Swift.Result { try body() })
            }
            if status != 0 { continuation.resume(throwing: NoThread()) }
        }
    }
}
