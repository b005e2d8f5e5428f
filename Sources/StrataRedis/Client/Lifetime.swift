#if ServiceLifecycle
internal import ServiceLifecycle
#endif

/// How the task that runs a client comes to its end.
enum Lifetime {
    case graceful
    case cancelled

    /// Suspends until the task is cancelled or graceful shutdown begins.
    static func end() async -> Lifetime {
        #if ServiceLifecycle
        do {
            try await gracefulShutdown()
            return .graceful
        } catch {
            return .cancelled
        }
        #else
        let (stream, _) = AsyncStream.makeStream(of: Never.self)
        for await _ in stream {}
        return .cancelled
        #endif
    }
}
