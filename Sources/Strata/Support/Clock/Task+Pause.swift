extension Task where Success == Never, Failure == Never {
    /// Suspends for at least `duration`, or until the task is cancelled.
    ///
    /// Use it in the place of `Task.sleep(for:)`: in release builds of Swift 6.2 and 6.3, cancelling that function's
    /// shim may corrupt the task's memory (swiftlang/swift#86204). The function behind the shim, which this calls, is
    /// not affected.
    ///
    /// - Throws: `CancellationError`.
    package static func pause(for duration: Duration) async throws {
        try await ContinuousClock().pause(for: duration)
    }
}

extension Clock where Duration == Swift.Duration {
    /// Suspends for at least `duration`, or until the task is cancelled; in the place of `sleep(for:)`.
    ///
    /// - Throws: `CancellationError`.
    package func pause(for duration: Duration) async throws {
        // A century: the system's clocks cannot count to all that a duration can say.
        try await sleep(until: now.advanced(by: min(duration, .seconds(100 * 366 * 86_400))), tolerance: nil)
    }
}
