package import Strata

/// The code of the error that a call throws; `nil` for none, and for an error of another type.
package func errorCode(_ body: () async throws -> Void) async -> CacheError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CacheError)?.code
    }
}
