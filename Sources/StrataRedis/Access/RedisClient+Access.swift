internal import Strata

extension RedisClient {
    /// The rules that the user of this client lacks, as ACL SETUSER takes them, such as `+client|tracking` or
    /// `~products:*`.
    ///
    /// Each command is tried over a connection of its own, in a form that changes nothing; the user needs no right to
    /// read ACLs.
    ///
    /// ```swift
    /// let missing = try await redis.missingRules(of: AccessRules(for: [.cache], keyspaces: ["products"]))
    /// if !missing.isEmpty { logger.error("Redis: ACL SETUSER shop \(missing.joined(separator: " "))") }
    /// ```
    ///
    /// One round trip for each command and keyspace. A cluster costs this at each primary, since each has users of its
    /// own.
    ///
    /// - Parameter rules: What the user is for.
    /// - Returns: What is missing, at any primary of a cluster; nothing when all is allowed.
    /// - Throws: ``RedisError`` when the server cannot be asked; `CancellationError`.
    public func missingRules(of rules: AccessRules) async throws -> [String] {
        var missing: Set<String> = []
        for var configuration in try await asked() {
            configuration.connections = 1
            // Rules are the same in all; whether another one may be selected is tried by itself, and must not end the
            // connection.
            let database = configuration.database
            configuration.database = 0
            missing.formUnion(try await Self.probing(configuration) { try await $0.tryRules(rules, database) })
        }
        return rules.rules.filter { missing.contains($0) }
    }

    private static func probing<Found>(
        _ configuration: RedisConfiguration,
        _ body: (RedisClient) async throws -> Found
    ) async throws -> Found {
        let probe = try RedisClient(configuration)
        do {
            let found = try await body(probe)
            await probe.shutDown()
            return found
        } catch {
            await probe.shutDown()
            throw error
        }
    }

    /// The servers at which rules are tried.
    private func asked() async throws -> [RedisConfiguration] {
        guard cluster != nil else { return [configuration] }
        do {
            return try await primaries().map(\.configuration)
        } catch let error as RedisError where error.serverMessage?.hasPrefix("NOPERM") == true {
            // A user who may not ask for the other nodes lacks that right at the known ones.
            return configuration.seeds.map { configuration.node(at: $0) }
        }
    }

    /// Checks at the start of a program that its user may do what it needs.
    ///
    /// - Parameter rules: What the user is for.
    /// - Throws: ``RedisError/Code/server`` with a message that names each missing rule; the errors of
    ///   ``missingRules(of:)``.
    public func requireAccess(_ rules: AccessRules) async throws {
        let missing = try await missingRules(of: rules)
        guard !missing.isEmpty else { return }
        throw RedisError(
            code: .server,
            message: "the Redis user lacks " + missing.joined(separator: " "),
            endpoint: configuration.place,
            serverMessage: "NOPERM"
        )
    }

    private func tryRules(_ rules: AccessRules, _ database: Int) async throws -> Set<String> {
        let ending = "strata-check-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        // All of them are of the same kinds, so one of each kind stands for a command that takes none of the kind.
        let patterns = rules.keys.map { (rules.keyRule + $0, AccessProbe.example(of: $0, ending: ending)) }
        let channels = rules.channels.map { ("&" + $0, AccessProbe.example(of: $0, ending: ending)) }
        var missing: Set<String> = []
        for command in rules.commands {
            let objects: [(rule: String, name: String)] =
                switch AccessProbe.object(of: command) {
                case .nothing: [("", "")]
                case .key: patterns
                // What the server itself says is only listened to.
                case .channel: command == "publish" ? channels.filter { $0.1 != Self.invalidations } : channels
                }
            for object in objects {
                let words = AccessProbe.arguments(
                    of: command,
                    key: object.name,
                    channel: object.name,
                    database: database
                )
                guard let words else { continue }
                let refused = try await command == "subscribe" ? refusalOfListening(words) : refusal(of: words)
                switch refused {
                case .nothing?: missing.insert("+" + command)
                case .key?, .channel?: missing.insert(object.rule)
                case nil: break
                }
            }
        }
        return missing
    }

    private static var invalidations: String { String(decoding: LinkMachine.invalidationChannel, as: UTF8.self) }

    /// The same for SUBSCRIBE, on a connection of its own: what others publish there comes unasked.
    private func refusalOfListening(_ words: [String]) async throws -> AccessProbe.Object? {
        do {
            return try await Self.probing(configuration) { try await $0.refusal(of: words) }
        } catch let error as RedisError where error.code == .protocolViolation {
            // A message came together with the answer, so there is a subscription.
            return nil
        }
    }

    /// What a user may not, if anything: other errors are what harmless arguments are answered with.
    private func refusal(of words: [String]) async throws -> AccessProbe.Object? {
        do {
            _ = try await send(words.map { Array($0.utf8) })
            return nil
        } catch let error as RedisError where error.code == .server {
            return error.serverMessage.flatMap { AccessProbe.object(refusedBy: $0) }
        }
    }
}
