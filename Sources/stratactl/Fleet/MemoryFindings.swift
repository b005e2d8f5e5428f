import StrataRedis

/// What the instances of a keyspace have answered about a key in their memory.
struct MemoryFindings {
    typealias Row = (instance: FleetInstance, answer: FleetInspector.Answer<KeyFinding>)

    /// How many instances have a line of their own.
    private static let mostLines = 20

    private(set) var rows: [Row] = []
    /// Why they were not asked; `nil` when they were, or when there are none.
    private(set) var refusal: String?

    /// Asks all that are listed.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The keyspace.
    ///   - key: The key.
    ///   - limit: How long to wait for those that do not answer.
    /// - Returns: What they have answered.
    /// - Throws: `CancellationError`. What the server says is told; what else is known of the key stays worth it.
    static func take(
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        _ key: InspectedKey,
        within limit: Duration
    ) async throws -> MemoryFindings {
        var findings = MemoryFindings()
        let inspector = FleetInspector(redis, keyspace)
        do {
            let instances = try await inspector.instances().instances
            guard !instances.isEmpty else { return findings }
            guard let bytes = key.userKey, bytes.count <= FleetQuestion.longestKey else {
                findings.refusal = key.userKey == nil ? "only the hash of the key is known" : "the key is too long"
                return findings
            }
            let answers = try await inspector.find(bytes, in: instances, within: limit)
            findings.rows = instances.map { ($0, answers[$0.number] ?? .none) }
        } catch let error as RedisError where error.serverMessage?.hasPrefix("NOPERM") == true {
            findings.refusal = "this user may not ask them: `stratactl acl --for inspect` prints what it lacks"
        } catch let error as RedisError {
            findings.refusal = error.description
        }
        return findings
    }

    /// A line for each, up to some number of them.
    var lines: [String] {
        if let refusal { return ["the instances were not asked: \(refusal)"] }
        guard !rows.isEmpty else { return ["not known: no instance is listed"] }
        let lines = rows.prefix(Self.mostLines)
            .map { "\(InstanceText.name(of: $0.instance)): \(Self.text(of: $0.answer))" }
        let rest = rows.dropFirst(Self.mostLines)
        guard !rest.isEmpty else { return lines }
        var counts: [String: Int] = [:]
        for row in rest { counts[Self.state(of: row.answer), default: 0] += 1 }
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return lines + [
            "and \(rest.count) more: " + sorted.prefix(5).map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        ]
    }

    private static func state(of answer: FleetInspector.Answer<KeyFinding>) -> String {
        switch answer {
        case .none: return "no answer"
        case .unusable: return "an answer that cannot be read"
        case .content(let finding):
            switch KeyFinding.State(rawValue: finding.state) {
            case .absent?: return "absent"
            case .fresh?: return "fresh"
            case .stale?: return "stale"
            case .expired?: return "expired"
            case .suspect?: return "suspect: the link is down, so Redis is asked first"
            case .voidByTag?: return "void: one of its tags was invalidated"
            case .voidByChange?: return "void: it was changed or removed"
            case .unknown?: return "not known there"
            case nil: return "'\(InstanceText.printable(finding.state))'"
            }
        }
    }

    private static func text(of answer: FleetInspector.Answer<KeyFinding>) -> String {
        var text = state(of: answer)
        guard case .content(let finding) = answer, let state = KeyFinding.State(rawValue: finding.state) else {
            return text
        }
        guard state != .absent, state != .unknown else { return text }
        if finding.isAbsence { text += ", that there is no value" }
        if state == .fresh || state == .suspect { text += ", \(ending(finding.freshFor))" }
        if state == .stale { text += ", usable \(ending(finding.staleFor))" }
        if let age = finding.age { text += "; stored \(span(age)) ago" }
        if finding.tags > 0 { text += "; \(Quantity.text(finding.tags, "tag"))" }
        return text
    }

    private static func ending(_ milliseconds: Int?) -> String {
        milliseconds.map { "for another \(span($0))" } ?? "for ever"
    }

    private static func span(_ milliseconds: Int) -> String {
        TimeSpan.text(seconds: Double(max(milliseconds, 0)) / 1000)
    }

    /// The answers in JSON.
    struct JSON: Encodable {
        let number: String
        let name: String?
        /// `answered`, `silent` or `unusable`.
        let answer: String
        let state: String?
        let isAbsence: Bool?
        let freshForMilliseconds: Int?
        let staleForMilliseconds: Int?
        let ageMilliseconds: Int?
        let tags: Int?
        let weight: Int?
        let frequency: Int?

        fileprivate init(_ row: Row) {
            number = row.instance.number
            name = row.instance.record?.name
            var finding: KeyFinding?
            switch row.answer {
            case .none: answer = "silent"
            case .unusable: answer = "unusable"
            case .content(let content):
                answer = "answered"
                finding = content
            }
            state = finding?.state
            isAbsence = finding?.isAbsence
            freshForMilliseconds = finding?.freshFor
            staleForMilliseconds = finding?.staleFor
            ageMilliseconds = finding?.age
            tags = finding?.tags
            weight = finding?.weight
            frequency = finding?.frequency
        }
    }

    var json: [JSON] { rows.map { JSON($0) } }
}
