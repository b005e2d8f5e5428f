import StrataTesting
import Testing

/// Expects a ``HarnessError`` of one kind.
func expect<Result>(
    code: HarnessError.Code,
    _ body: () async throws -> Result,
    sourceLocation: SourceLocation = #_sourceLocation
) async {
    do {
        _ = try await body()
        Issue.record("nothing was thrown, \(code) was expected", sourceLocation: sourceLocation)
    } catch let error as HarnessError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
}
