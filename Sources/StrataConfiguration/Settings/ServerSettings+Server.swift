#if Configuration
internal import StrataRedis

extension ServerSettings {
    /// The configuration of a client for the server.
    ///
    /// - Parameter reader: The section, to name keys in errors.
    /// - Returns: The configuration.
    /// - Throws: ``ConfigurationError`` for keys that contradict each other, and for what makes no sense.
    func configuration(_ reader: SettingReader) throws(ConfigurationError) -> RedisConfiguration {
        var configuration = try place(reader)
        try logIn(&configuration, reader)
        try encrypt(&configuration, reader)
        try sentinels.refine(&configuration, reader)
        return configuration
    }

    /// The server.
    private func place(_ reader: SettingReader) throws(ConfigurationError) -> RedisConfiguration {
        if let url {
            for (key, isThere) in [
                ("endpoints", endpoints != nil), ("topology", topology != nil),
                ("sentinels.endpoints", sentinels.endpoints != nil),
            ] where isThere {
                throw reader.failure(.conflict, key, "url is set, too: set one of the two")
            }
            do {
                return try RedisConfiguration(url: url)
            } catch {
                throw reader.failure(.wrongForm, "url", (error as? RedisError)?.message ?? "not a URL", cause: error)
            }
        }
        if let texts = sentinels.endpoints {
            guard endpoints == nil else {
                throw reader.failure(
                    .conflict,
                    "endpoints",
                    "sentinels.endpoints is set, too: set one of the two"
                )
            }
            guard topology == nil || topology == .sentinel || topology == .auto else {
                throw reader.failure(.conflict, "topology", "there are Sentinels, but the topology is another one")
            }
            let places = try places(texts, "sentinels.endpoints", SentinelOptions.defaultPort, reader)
            guard let primary = sentinels.primary else {
                throw reader.failure(.missing, "sentinels.primary", "the name that the Sentinels have for the primary")
            }
            var configuration = RedisConfiguration(sentinels: SentinelOptions(endpoints: places, primary: primary))
            if topology == .auto { configuration.topology = .auto }
            return configuration
        }
        guard let texts = endpoints else {
            throw reader.failure(.missing, "url", "no server: give url, endpoints or sentinels.endpoints")
        }
        guard topology != .sentinel else {
            throw reader.failure(.missing, "sentinels.endpoints", "the topology is sentinel")
        }
        let places = try places(texts, "endpoints", 6379, reader)
        var configuration = RedisConfiguration(endpoint: places[0])
        configuration.topology = topology ?? .single
        configuration.furtherEndpoints = Array(places.dropFirst())
        guard places.count == 1 || configuration.topology == .cluster else {
            throw reader.failure(
                .conflict,
                "topology",
                "there are several endpoints: only a cluster has more than one"
            )
        }
        return configuration
    }

    private func places(
        _ texts: [String],
        _ key: String,
        _ port: UInt16,
        _ reader: SettingReader
    ) throws(ConfigurationError) -> [RedisEndpoint] {
        guard (1...64).contains(texts.count) else { throw reader.failure(.outOfRange, key, "not 1 to 64 addresses") }
        var places: [RedisEndpoint] = []
        for text in texts {
            do {
                places.append(try RedisEndpoint(text: text, port: port))
            } catch {
                throw reader.failure(
                    .wrongForm,
                    key,
                    "not an address: write host, host:port, [::1]:port or /path",
                    cause: error
                )
            }
        }
        return places
    }

    private func logIn(_ configuration: inout RedisConfiguration, _ reader: SettingReader) throws(ConfigurationError) {
        if let username { configuration.username = username }
        if let password { configuration.password = Secret(password) }
        let source: CredentialSource
        if let file = credentials.file {
            guard credentials.passwordVariable == nil else {
                throw reader.failure(.conflict, "credentials.passwordVariable", "credentials.file is set, too")
            }
            guard credentials.usernameVariable == nil else {
                throw reader.failure(.conflict, "credentials.usernameVariable", "credentials.file is set, too")
            }
            source = .file(file, username: credentials.username)
        } else if let variable = credentials.passwordVariable {
            guard credentials.username == nil else {
                throw reader.failure(
                    .conflict,
                    "credentials.username",
                    "give credentials.usernameVariable with a variable"
                )
            }
            source = .environment(password: variable, username: credentials.usernameVariable)
        } else {
            guard credentials.username == nil, credentials.usernameVariable == nil else {
                let message = "there is a user, but neither credentials.file nor credentials.passwordVariable"
                throw reader.failure(.missing, "credentials.passwordVariable", message)
            }
            guard configuration.username == nil || configuration.password != nil else {
                throw reader.failure(.missing, "password", "there is a user name, but no password")
            }
            return
        }
        guard configuration.username == nil, configuration.password == nil else {
            let key = username != nil ? "username" : password != nil ? "password" : "url"
            throw reader.failure(.conflict, key, "credentials are set, too: give user and password in one place only")
        }
        configuration.credentials = source
    }

    private func encrypt(_ configuration: inout RedisConfiguration, _ reader: SettingReader) throws(ConfigurationError)
    {
        let set = TLSOptions.settings.filter { reader.section("tls").has($0.key) }
        guard isEncrypted != false else {
            guard set.isEmpty, configuration.tls == nil else {
                throw reader.failure(.conflict, "tls.enabled", "false, but the URL or other keys of tls ask for TLS")
            }
            return
        }
        guard isEncrypted == true || !set.isEmpty else { return }
        var options = configuration.tls ?? TLSOptions()
        for setting in set { setting.copy(tls, &options) }
        configuration.tls = options
    }
}

extension ServerSettings.Sentinels {
    fileprivate func refine(
        _ configuration: inout RedisConfiguration,
        _ reader: SettingReader
    ) throws(ConfigurationError) {
        guard configuration.sentinels != nil else {
            for (key, isThere) in [
                ("primary", primary != nil), ("username", username != nil), ("password", password != nil),
                ("timeout", timeout != nil),
            ] where isThere {
                throw reader.failure(.conflict, "sentinels.\(key)", "there are no Sentinels")
            }
            return
        }
        if let primary { configuration.sentinels?.primary = primary }
        if let username { configuration.sentinels?.username = username }
        if let password { configuration.sentinels?.password = Secret(password) }
        if let timeout { configuration.sentinels?.timeout = timeout }
        guard username == nil || configuration.sentinels?.password != nil else {
            throw reader.failure(.missing, "sentinels.password", "there is a user name, but no password")
        }
    }
}
#endif
