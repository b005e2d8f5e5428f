internal import Strata

extension RedisURL {
    /// The long name under which a URL gives verification up.
    static let anyCertificate = "dangerously-accept-any-certificate"

    /// The options of a URL for TLS, whose parameters are taken out of the others.
    ///
    /// - Parameter parameters: Keeps what is not of TLS.
    /// - Returns: The options.
    /// - Throws: ``RedisError/Code/invalidConfiguration`` for a parameter without a value.
    static func takeTLS(from parameters: inout RedisURLParameters) throws(RedisError) -> TLSOptions {
        var options = TLSOptions()
        options.authorities = try text("ca", &parameters)
        options.certificate = try text("cert", &parameters)
        options.key = try text("key", &parameters)
        options.serverName = try text("server-name", &parameters)
        options.requiresTLS13 = try flag("tls13", &parameters)
        options.dangerouslyAcceptsAnyCertificate = try flag(anyCertificate, &parameters)
        return options
    }

    private static func text(_ name: String, _ parameters: inout RedisURLParameters) throws(RedisError) -> String? {
        guard let bytes = parameters.take(name) else { return nil }
        guard !bytes.isEmpty else { throw invalid("the parameter \(name) of the URL has no value") }
        return try decode(bytes, part: "parameter \(name)")
    }

    private static func flag(_ name: String, _ parameters: inout RedisURLParameters) throws(RedisError) -> Bool {
        guard let value = try text(name, &parameters) else { return false }
        guard let flag = Bool(value) else {
            throw invalid("the parameter \(name) of the URL is neither true nor false")
        }
        return flag
    }
}
