/// What surrounds the fetches of a read, such as a span.
///
/// A fetch runs in a task of its own, which has no task-local values of its callers.
package protocol FetchScope: Sendable {
    /// The read's span, for other processes that wait for its fetch; `nil` when they cannot be told.
    var traceParent: TraceParent? { get }

    /// Runs a fetch.
    ///
    /// - Parameters:
    ///   - fetch: Asks the source.
    ///   - failure: The error that an answer stands for; `nil` for an answer that is none.
    /// - Returns: What `fetch` returns.
    /// - Throws: What `fetch` throws.
    func run<Output: Sendable>(
        _ fetch: () async throws -> Output,
        failure: (Output) -> (any Error)?
    ) async throws -> Output
}

extension ReadTraceRecorder? {
    /// The read's span, for other processes that wait for its fetch; `nil` for a read without a span.
    package var traceParent: TraceParent? { self?.scope?.traceParent }

    /// Runs a fetch in the scope of its read, if that has one.
    package func inScope<Output: Sendable>(
        _ fetch: () async throws -> Output,
        failure: (Output) -> (any Error)? = { _ in nil }
    ) async throws -> Output {
        guard let scope = self?.scope else { return try await fetch() }
        return try await scope.run(fetch, failure: failure)
    }
}
