// MARK: Memory and what it is kept for

extension Diagnosis {
    static func maxmemory(_ information: ServerInformation) -> Finding {
        guard let limit = information.number("maxmemory"), let used = information.number("used_memory") else {
            return .note("maxmemory", "it does not report its memory")
        }
        guard limit > 0 else {
            return .warning(
                "maxmemory",
                "\(Quantity.bytes(used)) in use and no limit: a full machine ends the server",
                "Set maxmemory; docs/operating.md says how much."
            )
        }
        let share = Int(max(0, min(Double(used) / Double(limit) * 100, 1_000_000)).rounded())
        let text = "\(Quantity.bytes(used)) of \(Quantity.bytes(limit)) in use (\(share) %)"
        guard share >= 90, information["maxmemory_policy"] == "noeviction" else { return .ok("maxmemory", text) }
        return .warning(
            "maxmemory",
            "\(text), and nothing is evicted: soon new values will not be stored",
            "Raise maxmemory, or choose allkeys-lfu where the server holds only caches."
        )
    }

    static func eviction(_ information: ServerInformation) -> Finding {
        guard let policy = information.printable("maxmemory_policy") else {
            return .note("eviction", "it does not report its policy")
        }
        let evicted = information.number("evicted_keys") ?? 0
        let text = evicted == 0 ? policy : "\(policy); \(Quantity.text(evicted, "key")) evicted since its start"
        switch policy {
        case "volatile-ttl":
            return .warning(
                "eviction",
                "\(text): leases have the shortest time to live, and go first",
                "Choose volatile-lfu, or allkeys-lfu where the server holds only caches."
            )
        case "allkeys-random", "volatile-random":
            return .warning(
                "eviction",
                "\(text): the numbers of invalidations may be evicted, and that voids a keyspace",
                "Choose allkeys-lfu or volatile-lfu."
            )
        case "allkeys-lrm", "volatile-lrm":
            return .warning(
                "eviction",
                "\(text): the numbers of invalidations are read more often than written, so they go early, which voids a keyspace",
                "Choose allkeys-lfu or volatile-lfu."
            )
        case "noeviction" where information.number("maxmemory") ?? 0 > 0:
            return .note("eviction", "\(text): a full server stores nothing new, and values come from the source")
        default: return .ok("eviction", text)
        }
    }

    static func persistence(_ information: ServerInformation, _ savePoints: ServerFacts.Told<String>) -> Finding {
        if information["rdb_last_bgsave_status"] == "err" || information["aof_last_write_status"] == "err" {
            return .warning(
                "persistence",
                "its last save has failed: it may refuse writes (MISCONF)",
                "Look at its log and its disk, or turn saving off: save \"\"."
            )
        }
        let restart = "after a restart, keys that were removed since the last save may be back"
        let advice = "For a server that holds only caches: save \"\" and appendonly no."
        if information["aof_enabled"] == "1" {
            return .note("persistence", "it writes a log of changes (appendonly): \(restart)", advice)
        }
        switch savePoints {
        case .success(""): return .ok("persistence", "none: a restart begins empty")
        case .success: return .note("persistence", "it saves snapshots: \(restart)", advice)
        case .failure(let refusal): return .unknown("persistence", refusal)
        }
    }

    /// Below this use the ratio says nothing: it is what the server itself takes.
    private static let leastJudged = 64 << 20

    static func fragmentation(_ information: ServerInformation) -> Finding {
        guard let ratio = information.decimal("mem_fragmentation_ratio"), let used = information.number("used_memory")
        else { return .note("fragmentation", "it does not report it") }
        guard used >= leastJudged else {
            return .ok("fragmentation", "not judged: \(Quantity.bytes(used)) in use is too little")
        }
        let hundredths = Int((min(max(ratio, 0), 1000) * 100).rounded())
        let text = "\(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10) times what is in use"
        if ratio > 1.5 {
            return .warning("fragmentation", text, "Turn activedefrag on, or restart the server in a quiet hour.")
        }
        if ratio < 0.9 {
            return .warning(
                "fragmentation",
                "\(text): a part is swapped out",
                "Give the machine more memory, or lower maxmemory."
            )
        }
        return .ok("fragmentation", text)
    }
}
