/// Lets others run, in a loop that waits for what nobody announces.
///
/// - Throws: `CancellationError`, so that a test that waits in vain ends with its time limit and is named.
public func nextTurn() async throws {
    try Task.checkCancellation()
    await Task.yield()
}
