#if Hummingbird
internal import HTTPTypes
internal import Hummingbird
internal import Strata

/// The parts of a body on their way from the task that writes them to the one that reads them, one at a time: the
/// writer waits until the part has been taken.
final class BodyRelay: Sendable {
    private struct State {
        var part: ByteBuffer?
        var end: Result<HTTPFields?, any Error>?
        var isCancelled = false
        /// Waits for a part, or the end.
        var reader: CheckedContinuation<Void, Never>?
        /// Waits until its part has been taken.
        var writer: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    /// The trailers, once the body has ended with some.
    var trailers: HTTPFields? {
        state.withLock { state in
            if case .success(let trailers) = state.end { trailers } else { nil }
        }
    }

    /// Hands a part over, and waits until it has been taken.
    ///
    /// - Throws: `CancellationError`.
    func send(_ part: ByteBuffer) async throws {
        guard part.readableBytes > 0 else { return try Task.checkCancellation() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (reader, isOver) = state.withLock { state in
                    guard !state.isCancelled else { return (nil as CheckedContinuation<Void, Never>?, true) }
                    state.part = part
                    state.writer = continuation
                    return (state.reader.take(), false)
                }
                reader?.resume()
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let writer = state.withLock { state in
                state.isCancelled = true
                return state.writer.take()
            }
            writer?.resume()
        }
        try Task.checkCancellation()
    }

    /// The body has ended; only the first end counts.
    func end(_ result: Result<HTTPFields?, any Error>) {
        let reader = state.withLock { state in
            if state.end == nil { state.end = result }
            return state.reader.take()
        }
        reader?.resume()
    }

    /// The next part; `nil` after the last.
    ///
    /// - Throws: The error of the task that writes; `CancellationError`.
    func next() async throws -> ByteBuffer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    guard state.part == nil, state.end == nil, !Task.isCancelled else { return true }
                    state.reader = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            let reader = state.withLock { $0.reader.take() }
            reader?.resume()
        }
        let (part, end, writer) = state.withLock { state in (state.part.take(), state.end, state.writer.take()) }
        writer?.resume()
        if let part { return part }
        try Task.checkCancellation()
        _ = try end?.get()
        return nil
    }
}
#endif
