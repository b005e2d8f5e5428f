extension RedisServer {
    /// Sends one command over a connection of its own, with the kit's own small client.
    ///
    /// ```swift
    /// try await server.command("CONFIG", "SET", "maxmemory", "1mb")
    /// let size = try await server.command("DBSIZE").integer
    /// ```
    ///
    /// - Parameters:
    ///   - arguments: The command and its arguments.
    ///   - limit: How long the whole call may take; 30 s by default.
    /// - Returns: The reply.
    /// - Throws: ``HarnessError``: the server refused (`errorReply`, with its text as the message), was not there, or
    ///   did not answer in time. It does not throw `CancellationError`: the call runs until the limit at most.
    @discardableResult
    public func command(_ arguments: String..., within limit: Duration = .seconds(30)) async throws -> RawReply {
        try await command(bytes: arguments.map { Array($0.utf8) }, within: limit)
    }

    /// Sends one command whose arguments are any bytes.
    ///
    /// - Parameters:
    ///   - arguments: The command and its arguments.
    ///   - limit: How long the whole call may take; 30 s by default.
    /// - Returns: The reply.
    /// - Throws: ``HarnessError`` as ``command(_:within:)``.
    @discardableResult
    public func command(bytes arguments: [[UInt8]], within limit: Duration = .seconds(30)) async throws -> RawReply {
        try await BlockingThread.run { [self] _ in try ask(arguments, until: .now + limit) }
    }

    /// A section of `INFO` by field name.
    ///
    /// Blocks.
    func information(_ section: String, until deadline: ContinuousClock.Instant) throws -> [String: String] {
        let text = try ask("INFO", section, until: deadline).text
        var fields: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return fields
    }

    /// Sends one command and waits for the reply.
    ///
    /// Blocks.
    @discardableResult
    func ask(_ arguments: String..., until deadline: ContinuousClock.Instant) throws -> RawReply {
        try ask(arguments.map { Array($0.utf8) }, until: deadline)
    }

    func ask(_ arguments: [[UInt8]], until deadline: ContinuousClock.Instant) throws -> RawReply {
        var connection = try RawConnection(to: unixEndpoint ?? endpoint, until: deadline)
        try connection.authenticate(credentials)
        if database != 0 {
            _ = try connection.command(["SELECT", String(database)])
        }
        return try connection.command(arguments)
    }
}
