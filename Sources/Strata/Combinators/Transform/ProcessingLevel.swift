/// A level that shows the values of the level inside in another form.
package protocol ProcessingLevel: WrappingLevel, AnsweringLevel where Key == Base.Key {
    /// What makes that form of a value.
    var process: Step<(Base.Key, Base.Value), Value> { get }
}

extension ProcessingLevel {
    /// The entry of the level inside with its value in the other form.
    ///
    /// - Throws: What the level inside or the function throws.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard let entry = try await base.entry(for: key, request.withoutBasis) else { return nil }
        return try await entry.map { try await process((key, $0)) }
    }

    /// The entries of the level inside, asked for by one call, with their values in the other form.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        try await base.entries(for: keys, request.withoutBasis).mapped(keys, by: process, request)
    }
}
