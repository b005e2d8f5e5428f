internal import Strata

/// Requests to the origin: each is counted and timed, and tells observers of its begin and end.
extension HTTPCache {
    /// Asks for a resource.
    ///
    /// - Parameters:
    ///   - key: The resource.
    ///   - kept: What was fetched before, if anything, and is asked about.
    ///   - recorder: Notes the fetch as a step of its read.
    /// - Returns: The outcome.
    /// - Throws: What the origin throws.
    func fetch(
        _ key: HTTPResource,
        revalidating kept: HTTPContent?,
        _ recorder: ReadTraceRecorder?
    ) async throws -> HTTPOutcome {
        try await measured(key, recorder) { try await origin.fetch(key, revalidating: kept) }
    }

    /// Sends a request on.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isRenewal: Whether no caller waits for it: it then ends with the origin's limit for that.
    /// - Returns: What the origin has answered.
    /// - Throws: What the origin throws; ``HTTPError/Code/timeout``; `CancellationError`.
    func send(_ request: HTTPCacheRequest, isRenewal: Bool = false) async throws -> HTTPReply {
        try await measured(HTTPResource(exchangeAt: request.url)) {
            if isRenewal, let limit = origin.renewalLimit { return try await renewed(request, within: limit) }
            return try await origin.send(request)
        } failure: { reply in
            reply.isFailure ? HTTPError(.statusNotOK, status: reply.status) : nil
        }
    }

    /// Sends a request on, and leaves it when its time is over.
    ///
    /// One that ignores its cancellation then holds up nothing, and its answer is dropped.
    private func renewed(_ request: HTTPCacheRequest, within limit: Duration) async throws -> HTTPReply {
        do {
            // Each request has a handler of its own, so none joins another's.
            return
                try await renewals.join(request, limit: WaitLimit(sinceJoining: limit)) { [origin] _ in
                    try await origin.send(request)
                }
                .output
        } catch is WaitLimitReached {
            throw HTTPError(.timeout)
        }
    }

    /// - Parameters:
    ///   - key: What observers are told that is asked for.
    ///   - recorder: Notes the fetch as a step of its read.
    ///   - ask: Asks the origin.
    ///   - failure: The error that an answer stands for; `nil` for an answer that is none.
    /// - Returns: The answer, also one that stands for an error.
    /// - Throws: What `ask` throws.
    private func measured<Answer: Sendable>(
        _ key: HTTPResource,
        _ recorder: ReadTraceRecorder? = nil,
        _ ask: () async throws -> Answer,
        failure: (Answer) -> (any Error)? = { _ in nil }
    ) async throws -> Answer {
        let start = MonotonicInstant.now
        counted.withLock { $0.fetches += 1 }
        meter.begin(key)
        do {
            let answer = try await recorder.inScope(ask, failure: failure)
            let end = MonotonicInstant.now
            if let error = failure(answer) {
                failed(key, error, from: start, recorder)
            } else {
                meter.end(key, from: start, to: end)
                recorder?.step(.fetched, at: .source, from: start, to: end)
            }
            return answer
        } catch {
            failed(key, error, from: start, recorder)
            throw error
        }
    }

    /// What fails in a cancelled task is no failure of the origin.
    private func failed(
        _ key: HTTPResource,
        _ error: any Error,
        from start: MonotonicInstant,
        _ recorder: ReadTraceRecorder?
    ) {
        let isCancelled = Task.isCancelled
        if !isCancelled { counted.withLock { $0.failedFetches += 1 } }
        let error: any Error = isCancelled ? CancellationError() : error
        meter.end(key, with: error, from: start, isFailure: !isCancelled)
        recorder?.failed(error, at: .source, from: start)
    }
}
