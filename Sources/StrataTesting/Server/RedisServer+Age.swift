extension RedisServer {
    /// Lets time go by for one key.
    ///
    /// KEYS: the key. ARGV: the time in ms. A new time to live would be told to all who track the key, as a change: so
    /// an entry of a cache, which begins with these bytes, keeps its own.
    private static let ageing = #"""
        local left = redis.call('PTTL', KEYS[1])
        if left < 0 then return 0 end
        left = left - tonumber(ARGV[1])
        if left <= 0 then return redis.call('DEL', KEYS[1]) end
        if redis.pcall('GETRANGE', KEYS[1], 0, 2) == '\215\83\84' then return 0 end
        return redis.call('PEXPIRE', KEYS[1], left)
        """#

    /// Takes time off what the keys have to live; does nothing at a replica, which its primary tells.
    ///
    /// - Parameters:
    ///   - duration: The time.
    ///   - kept: Names of keys that keep theirs.
    /// - Throws: ``HarnessError``.
    func age(by duration: Duration, sparing kept: Set<[UInt8]>) async throws {
        let (seconds, attoseconds) = duration.components
        let time = String(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        try await BlockingThread.run { [self] cancellation in
            var connection = try RawConnection(to: unixEndpoint ?? endpoint, until: .now + .seconds(60))
            try connection.authenticate(credentials)
            guard try connection.command(["ROLE"]).elements?.first?.text == "master" else { return }
            for database in try databases(connection.command(["INFO", "keyspace"])) {
                if database != 0 { _ = try connection.command(["SELECT", String(database)]) }
                var cursor = "0"
                // A walk may name a key twice while the table shrinks.
                var aged: Set<[UInt8]> = []
                repeat {
                    try cancellation.check()
                    let step = try connection.command(["SCAN", cursor, "COUNT", "1000"]).elements ?? []
                    for case .bulk(let key) in step.last?.elements ?? []
                    where !kept.contains(key) && aged.insert(key).inserted {
                        let words = ["EVAL", Self.ageing, "1"].map { Array($0.utf8) }
                        _ = try connection.command(words + [key, Array(time.utf8)])
                    }
                    cursor = step.first?.text ?? "0"
                } while cursor != "0"
            }
        }
    }

    /// The databases with keys; of a server that was there before, the one that its URL names.
    private func databases(_ information: RawReply) -> [Int] {
        guard !isExternal else { return [database] }
        return information.text.split(whereSeparator: \.isNewline)
            .compactMap { line in
                guard line.hasPrefix("db"), let colon = line.firstIndex(of: ":") else { return nil }
                return Int(line.dropFirst(2)[..<colon])
            }
    }
}
