/// What a call passes to the levels that it reaches, besides the parameters.
///
/// Work that a user's closure begins is not part of the call.
@usableFromInline
enum CallLocals {
    private static var isEmpty: Bool {
        UncachedWrite.value == nil && RemovalCall.current == nil && InvalidationAccount.current == nil
    }

    /// Runs work that belongs to no call.
    @usableFromInline
    static func apart(_ body: () -> Void) {
        guard !isEmpty else { return body() }
        UncachedWrite.$value.withValue(nil) {
            RemovalCall.$current.withValue(nil) { InvalidationAccount.$current.withValue(nil, operation: body) }
        }
    }

    /// Runs work that belongs to no call.
    static func apart(_ body: () async throws -> Void) async throws {
        guard !isEmpty else { return try await body() }
        try await UncachedWrite.$value.withValue(nil) {
            try await RemovalCall.$current.withValue(nil) {
                try await InvalidationAccount.$current.withValue(nil, operation: body)
            }
        }
    }
}
