extension Step where Input: Hashable & Sendable, Output: Sendable {
    /// The results for several inputs in their order, after a last check of each.
    ///
    /// Suspending functions run at the same time. What fails is `nil` if the request leaves out failures; else the
    /// first failure ends it all.
    func each<Result: Sendable>(
        _ inputs: [Input],
        _ request: ReadRequest,
        _ finish: @escaping @Sendable (Output) throws -> Result
    ) async throws -> [Result?] {
        guard isImmediate else {
            return try await inputs.concurrently { input in
                try await request.leavingOut(input) { try finish(try await self(input)) }
            }
        }
        var results: [Result?] = []
        results.reserveCapacity(inputs.count)
        for input in inputs {
            results.append(try await request.leavingOut(input) { try finish(try await self(input)) })
        }
        return results
    }

    /// The results for several inputs in their order.
    func each(_ inputs: [Input], _ request: ReadRequest) async throws -> [Output?] {
        try await each(inputs, request) { $0 }
    }
}

extension CacheLevel {
    /// The entries of those keys that are asked for, each at its place, by one call.
    func entries(of keys: [Key], at asked: [Int], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        guard !asked.isEmpty else { return Array(repeating: nil, count: keys.count) }
        if asked.count == keys.count { return try await entries(for: keys, request) }
        let found = try await entries(for: asked.map { keys[$0] }, request)
        var entries = [Entry<Value>?](repeating: nil, count: keys.count)
        for (position, index) in asked.enumerated() { entries[index] = found[position] }
        return entries
    }
}
