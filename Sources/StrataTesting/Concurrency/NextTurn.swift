internal import Strata

/// Lets other tasks run for a moment, in a loop that waits for an effect without a signal.
///
/// It takes a fraction of a millisecond and no processor time: with few processors, a loop that only yields would
/// starve the work it waits for.
///
/// - Throws: `CancellationError`, so that a test that waits too long ends at its time limit and is reported.
public func nextTurn() async throws {
    try await Task.pause(for: .microseconds(100))
}
