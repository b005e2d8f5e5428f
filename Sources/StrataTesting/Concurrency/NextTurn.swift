/// Lets other tasks run, in a loop that waits for an effect without a signal.
///
/// - Throws: `CancellationError`, so that a test that waits too long ends with its time limit and is named.
public func nextTurn() async throws {
    try Task.checkCancellation()
    await Task.yield()
}
