internal import Strata

/// The parameters of a Redis URL: what stands behind its question mark.
///
/// Each may be taken once; parameters that are left are refused, without being quoted.
struct RedisURLParameters {
    private var values: [String: ArraySlice<UInt8>] = [:]

    init(_ query: ArraySlice<UInt8>?) throws(RedisError) {
        guard let query, !query.isEmpty else { return }
        for part in query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else {
                throw RedisError(code: .invalidConfiguration, message: "a parameter of the URL has no value")
            }
            let name = String(decoding: part[..<equals], as: UTF8.self)
            guard values.updateValue(part[(equals + 1)...], forKey: name) == nil else {
                throw RedisError(code: .invalidConfiguration, message: "a parameter of the URL is given twice")
            }
        }
    }

    /// Takes a parameter as it stands.
    mutating func take(_ name: String) -> ArraySlice<UInt8>? { values.removeValue(forKey: name) }

    /// Nothing may be left.
    func finish() throws(RedisError) {
        guard !values.isEmpty else { return }
        throw RedisError(
            code: .invalidConfiguration,
            message: """
                unknown parameter; known: db, topology, master, sentinelUser, sentinelPassword, \
                replicaLagLimit, tracking; \
                with rediss:// also ca, cert, key, server-name, tls13, \(RedisURL.anyCertificate)
                """
        )
    }
}
