internal import Strata

/// Lets others go on for a moment, in a loop that waits for an effect without a signal.
///
/// It takes a fraction of a millisecond and no processor: a loop that only yielded would starve what it waits for,
/// where there are few processors.
///
/// - Throws: `CancellationError`, so that a test that waits too long ends with its time limit and is named.
public func nextTurn() async throws {
    try await Task.pause(for: .microseconds(100))
}
