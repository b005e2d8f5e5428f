import StrataRedis

/// What the facts of a server mean for a cache.
///
/// Each check gives at least one finding; what the server has refused to tell is one as well.
struct Diagnosis {
    let findings: [Finding]

    init(_ facts: CacheFacts) {
        var findings: [Finding] = []
        for silence in facts.silent { findings.append(Self.silent(silence)) }
        for server in facts.servers {
            let found = Self.findings(server, sentinels: facts.sentinels)
            findings += server.cluster == nil ? found : found.map { $0.at(server.place) }
        }
        findings += Self.permissions(facts)
        findings += Self.marks(facts)
        self.findings = findings
    }

    private static func findings(_ facts: ServerFacts, sentinels: String?) -> [Finding] {
        var findings: [Finding]
        switch facts.info {
        case .success(let fields):
            let information = ServerInformation(fields)
            findings = [
                server(information), role(information, sentinels: sentinels, isNode: facts.cluster != nil),
                maxmemory(information), eviction(information), persistence(information, facts.savePoints),
                fragmentation(information), clients(information, facts.peers),
            ]
        case .failure(let refusal):
            let checks = ["server", "role", "maxmemory", "eviction", "persistence", "fragmentation", "clients"]
            findings = checks.map { Finding.unknown($0, refusal) }
        }
        if let told = facts.cluster { findings.append(cluster(told)) }
        return findings + [tracking(facts), clock(facts.clock), latency(facts.roundTrips)]
    }

    /// How many findings are to be changed.
    var warnings: Int { findings.count { $0.severity == .warning } }
}

/// INFO, field by field.
struct ServerInformation {
    let fields: [String: String]

    init(_ fields: [String: String]) {
        self.fields = fields
    }

    subscript(_ name: String) -> String? { fields[name] }

    func number(_ name: String) -> Int? { fields[name].flatMap { Int($0) } }

    func decimal(_ name: String) -> Double? {
        fields[name].flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
    }

    /// A field that a terminal can show.
    func printable(_ name: String) -> String? { fields[name].map { PrintableText.escape(Array($0.utf8.prefix(200))) } }
}

// MARK: The server

extension Diagnosis {
    /// The oldest version that Strata is tested with.
    private static let oldest = [6, 2]

    /// The first release of each line without a fault by which a client takes the server over or ends it.
    ///
    /// That is CVE-2025-49844 and, for Valkey 9.0, CVE-2026-27623. Faults found later are not in this table.
    private static let sound: [String: [[Int]]] = [
        "redis": [[6, 2, 20], [7, 2, 11], [7, 4, 6], [8, 0, 4], [8, 2, 2]],
        "valkey": [[7, 2, 11], [8, 0, 6], [8, 1, 4], [9, 0, 3]],
    ]

    static func server(_ information: ServerInformation) -> Finding {
        let product = information["valkey_version"] != nil ? "valkey" : "redis"
        let field = product + "_version"
        guard let version = information.printable(field) else {
            return .note("server", "it does not report its version", "Look up whether it is Redis 6.2 or newer.")
        }
        let uptime =
            information.number("uptime_in_seconds").map { ", up \(TimeSpan.text(seconds: Double(max($0, 1))))" } ?? ""
        let mode = information.printable("redis_mode") ?? information.printable("server_mode") ?? "unknown mode"
        let text = "\(product) \(version), \(mode)\(uptime)"
        let numbers = version.split(separator: ".").map { Int($0.prefix { $0.isNumber }) ?? 0 }
        if numbers.lexicographicallyPrecedes(oldest) {
            return .warning("server", "\(text): older than 6.2, the oldest that is tested", "Use a newer server.")
        }
        guard lacksFixes(product, numbers) else { return .ok("server", text) }
        let fault = product == "valkey" && numbers.first == 9 ? "CVE-2026-27623" : "CVE-2025-49844"
        return .note(
            "server",
            "\(text): by its version number it lacks the fix for \(fault)",
            "Update it, unless it is a distribution's package: those have the fixes under older numbers."
        )
    }

    /// Whether a release of the same line, or of a line that is still served, has the fixes and this one has not.
    static func lacksFixes(_ product: String, _ numbers: [Int]) -> Bool {
        guard let lines = sound[product], let newest = lines.last else { return false }
        if let line = lines.first(where: { $0.prefix(2).elementsEqual(numbers.prefix(2)) }) {
            return numbers.lexicographicallyPrecedes(line)
        }
        return numbers.lexicographicallyPrecedes(newest)
    }

    static func role(_ information: ServerInformation, sentinels: String?, isNode: Bool = false) -> Finding {
        if information["cluster_enabled"] == "1", !isNode {
            return .warning(
                "role",
                "a node of a cluster, used as a single server",
                "Name the cluster: redis-cluster://host:port,host:port."
            )
        }
        switch information["role"] {
        case "master":
            let count = information.number("connected_slaves") ?? 0
            let replicas = Quantity.text(count, "replica")
            if isNode, count == 0 {
                return .note("role", "a primary of a cluster without a replica: nothing takes its slots when it fails")
            }
            if isNode { return .ok("role", "a primary of a cluster with \(replicas)") }
            let way = sentinels.map { ", found by Sentinels (\(PrintableText.escape(Array($0.utf8))))" } ?? ""
            return .ok("role", "a primary with \(replicas)\(way)")
        case "slave":
            let link = information["master_link_status"] == "up" ? "" : ", and its link to the primary is down"
            return .warning(
                "role",
                "a replica, which takes no writes\(link)",
                "Name the primary, or the Sentinels: redis-sentinel://host:port/?master=NAME."
            )
        default: return .note("role", "it does not report its role")
        }
    }

    /// What a node says of the cluster.
    static func cluster(_ told: ServerFacts.Told<[String: String]>) -> Finding {
        let information: ServerInformation
        switch told {
        case .failure(let refusal): return .unknown("cluster", refusal)
        case .success(let fields): information = ServerInformation(fields)
        }
        let slots = information.number("cluster_slots_ok") ?? 0
        let primaries = Quantity.text(information.number("cluster_size") ?? 0, "primary", "primaries")
        let text = "\(slots) of 16384 slots are served, by \(primaries)"
        guard information["cluster_state"] == "ok" else {
            return .warning(
                "cluster",
                "this node says that the cluster is down, and refuses calls (CLUSTERDOWN): \(text)",
                "Look at CLUSTER NODES there: a node has failed, or is cut off."
            )
        }
        guard slots == 16_384 else {
            return .warning("cluster", text, "Look at CLUSTER NODES there. Keys in the other slots are not served.")
        }
        return .ok("cluster", text)
    }

    /// A primary that does not answer.
    static func silent(_ silence: CacheFacts.Silence) -> Finding {
        .warning(
            "server",
            "it cannot be asked: \(silence.error)",
            "Check that it runs and can be reached from here, as every node of the cluster has to be."
        )
        .at(silence.place)
    }

    static func clients(_ information: ServerInformation, _ peers: ServerFacts.Told<[ServerFacts.Peer]>) -> Finding {
        let connected = information.number("connected_clients") ?? 0
        let limit = information.number("maxclients")
        let count = Quantity.text(connected, "connection") + (limit.map { " of at most \($0)" } ?? "")
        if let limit, connected > limit / 10 * 8 {
            return .warning(
                "clients",
                "\(count): soon new ones will be refused",
                "Raise maxclients, or find who opens them."
            )
        }
        switch peers {
        case .success(let peers): return .ok("clients", "\(count); \(names(of: peers))")
        case .failure(let refusal):
            let text = "\(count); their names are not known: \(refusal.command) was refused (\(refusal.answer))"
            return Finding(check: "clients", severity: .unknown, text: text, advice: nil)
        }
    }

    /// The names that most connections have, without those of instances.
    private static func names(of peers: [ServerFacts.Peer]) -> String {
        let groups = Dictionary(grouping: peers) { $0.name.prefix { $0 != "@" } }.map { (name: $0, peers: $1) }
            .sorted { ($1.peers.count, $0.name) < ($0.peers.count, $1.name) }
        let shown = groups.prefix(5)
            .map { name, peers in
                let hearing = peers.count { $0.hearsOfChanges }
                let title = name.isEmpty ? "without a name" : PrintableText.escape(Array(name.utf8.prefix(60)))
                return "\(title) \(peers.count)" + (hearing == 0 ? "" : " (\(hearing) told of changes)")
            }
        let rest = groups.dropFirst(5).reduce(0) { $0 + $1.peers.count }
        return (shown + (rest == 0 ? [] : ["others \(rest)"])).joined(separator: ", ")
    }
}
