extension Result where Failure == any Error {
    /// What has come of `body`, thrown or returned.
    package init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
