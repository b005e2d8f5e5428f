#if Configuration
internal import Strata
internal import StrataRedis

extension CacheSettings {
    static let settings: [Setting<CacheSettings>] =
        [
            memory("memory.entries", .integer) {
                .entries($0)
            } number: {
                $0.asEntries
            },
            memory("memory.bytes", .size) {
                .bytes($0)
            } number: {
                $0.asBytes
            },
            .duration("memory.lifetime", orNone: \.memoryLifetime),
            .duration("memory.idleLifetime", orNone: \.idleLifetime),
        ]
        + FreshnessPolicy.settings.map { $0.within("freshness", \.freshness) }
        + LeaseOptions.settings.map { $0.within("leases", \.leases) }
        + [
            coherenceSetting,
            removalSetting,
            .text("keyspace.name", optional: \.keyspaceName),
            .text("keyspace.prefix", \.prefix),
            .integer("keyspace.version", \.version, Int.min...Int.max),
            .choice("codec", \.codec),
            compressionSetting,
            Setting("schema", \.schema, .integer, text: { $0.map { String($0) } }) {
                reader,
                key throws(ConfigurationError) in
                guard let number = try reader.integer(key) else { return nil }
                try reader.check(number, 0...Int(UInt32.max), key)
                return .some(UInt32(number))
            },
        ]

    /// The two units of memory exclude each other in one section; a cache may have another one than the defaults.
    private static func memory(
        _ key: String,
        _ form: Form,
        _ make: @escaping @Sendable (Int) -> MemorySize,
        number: @escaping @Sendable (MemorySize) -> Int?
    ) -> Setting<CacheSettings> {
        Setting(
            key: key,
            form: form,
            isReloadable: true,
            text: { settings in number(settings.memory).map { form == .size ? SizeText.write($0) : String($0) } },
            read: { reader, settings throws(ConfigurationError) in
                guard let number = try form == .size ? reader.size(key) : reader.integer(key) else { return }
                try reader.check(number, 0...Int.max, key)
                let other = form == .size ? "memory.entries" : "memory.bytes"
                guard !reader.has(other) else { throw reader.failure(.conflict, key, "\(other) is set, too") }
                settings.memory = make(number)
            },
            copy: { other, settings in settings.memory = other.memory }
        )
    }

    private static let coherenceSetting = Setting<CacheSettings>(
        "coherence",
        \.coherence,
        .coherence,
        text: { coherence in
            switch coherence {
            case .tracking: "tracking"
            case .none: Form.none
            case .lifetime(let lifetime): DurationText.write(lifetime)
            }
        }
    ) { reader, key throws(ConfigurationError) in
        guard let raw = try reader.raw(key, as: [.text, .number, .integer]) else { return nil }
        switch raw {
        case .text("tracking"): return .tracking
        case .text(Form.none): return Coherence.none
        default:
            do throws(ConfigurationError) {
                return .lifetime(try reader.duration(raw, key))
            } catch {
                throw reader.failure(error.code, key, "neither tracking nor none nor a duration")
            }
        }
    }

    private static let removalSetting = Setting<CacheSettings>(
        "removals",
        \.removals,
        .choice(["confirmed", "deferred"]),
        text: { $0 == .deferred ? "deferred" : "confirmed" }
    ) { reader, key throws(ConfigurationError) in
        try reader.choice(key, of: ["confirmed", "deferred"]).map { $0 == "deferred" ? .deferred : .confirmed }
    }

    /// The name of a compression that the code has given.
    private static let compressionSetting = Setting<CacheSettings>(
        "compression",
        \.compression,
        .text,
        text: { $0?.description ?? Form.none }
    ) { reader, key throws(ConfigurationError) in
        guard let name = try reader.text(key) else { return nil }
        guard name != Form.none else { return .some(nil) }
        guard let stage = reader.stages[name] else {
            let known = reader.stages.keys.sorted().joined(separator: ", ")
            throw reader.failure(
                .unknownValue,
                key,
                "not one of those that the code names: \(known.isEmpty ? "there are none" : known)"
            )
        }
        return .some(stage)
    }
}

extension CacheSettings.MemorySize {
    fileprivate var asEntries: Int? {
        if case .entries(let count) = self { count } else { nil }
    }

    fileprivate var asBytes: Int? {
        if case .bytes(let count) = self { count } else { nil }
    }
}
#endif
