internal import Strata

extension Collection where Element: Sendable, Self: Sendable {
    /// The outcome of `body` for each element, in their order, with all at once.
    ///
    /// One that fails keeps no other from ending.
    func outcomes<Success: Sendable>(
        _ body: @escaping @Sendable (Element) async throws -> Success
    ) async -> [Result<Success, any Error>] {
        await withTaskGroup(of: (Int, Result<Success, any Error>).self) { group in
            for (place, element) in enumerated() {
                group.addTask { (place, await Result { try await body(element) }) }
            }
            var outcomes = [Result<Success, any Error>?](repeating: nil, count: count)
            for await (place, outcome) in group { outcomes[place] = outcome }
            return outcomes.compactMap { $0 }
        }
    }
}
