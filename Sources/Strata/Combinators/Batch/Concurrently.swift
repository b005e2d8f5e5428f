extension Collection where Element: Sendable {
    /// The results of `body` in the order of the elements, all at the same time.
    ///
    /// The first that throws cancels the others.
    func concurrently<Result: Sendable>(
        _ body: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        guard count > 1 else {
            guard let first else { return [] }
            return [try await body(first)]
        }
        return try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            for (index, element) in enumerated() {
                group.addTask { (index, try await body(element)) }
            }
            var results = [Result?](repeating: nil, count: count)
            for try await (index, result) in group { results[index] = result }
            return results.compactMap { $0 }
        }
    }
}

extension Array where Element: Sendable {
    /// The results of `body` in the order of the elements.
    ///
    /// - Parameters:
    ///   - suspends: Whether `body` may suspend; then it runs for all elements at the same time.
    ///   - body: Makes the result of an element.
    /// - Returns: The results.
    /// - Throws: What `body` throws first, which ends the rest.
    func each<Result: Sendable>(
        suspends: Bool,
        _ body: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        guard !suspends else { return try await concurrently(body) }
        var results: [Result] = []
        results.reserveCapacity(count)
        for element in self { results.append(try await body(element)) }
        return results
    }
}

extension ReadRequest {
    /// Notes that several keys have failed together.
    ///
    /// - Throws: The error, unless failures are left out; `CancellationError`.
    package func leaveOut(_ keys: some Sequence<any Hashable & Sendable>, _ error: any Error) async throws {
        for key in keys { _ = try await leavingOut(key) { () throws -> Never? in throw error } }
    }

    /// The result of `body`; `nil` when it fails and failures are left out.
    ///
    /// A task that is cancelled has not failed: it ends as cancelled. A failure is noted with its key.
    package func leavingOut<Result>(
        _ key: any Hashable & Sendable,
        _ body: () async throws -> Result?
    ) async throws -> Result? {
        guard leavesOutFailures else { return try await body() }
        do {
            return try await body()
        } catch {
            if Task.isCancelled { throw CancellationError() }
            leftOut?.add(error, of: key)
            return nil
        }
    }
}
