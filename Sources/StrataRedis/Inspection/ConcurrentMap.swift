extension Collection where Element: Sendable, Self: Sendable {
    /// The results of `body` in the order of the elements.
    ///
    /// Up to ``KeyspaceInspector/concurrency`` run at once, so that their commands leave in one write and no limit of
    /// the client is met.
    func concurrently<Result: Sendable>(
        _ body: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        let elements = Array(self)
        var results: [Result?] = Array(repeating: nil, count: elements.count)
        for start in stride(from: 0, to: elements.count, by: KeyspaceInspector.concurrency) {
            let end = Swift.min(start + KeyspaceInspector.concurrency, elements.count)
            try await withThrowingTaskGroup(of: (Int, Result).self) { group in
                for index in start..<end {
                    group.addTask { (index, try await body(elements[index])) }
                }
                for try await (index, result) in group { results[index] = result }
            }
        }
        return results.compactMap { $0 }
    }
}
