public import Strata

/// How a named cache is set up: memory above Redis above a source.
///
/// | setting | default | why |
/// |---|---|---|
/// | memory | 10 000 entries | what fits in every process; measure yours |
/// | memoryLifetime, idleLifetime | none | the entry's own lifetime, and the limit, decide |
/// | freshness | see ``/Strata/FreshnessPolicy`` | |
/// | leases | see ``LeaseOptions`` | |
/// | coherence | tracking | a change is known one network hop later |
/// | removals | confirmed | what Redis fails is an error |
/// | keyspace | the name of the cache, prefix `strata`, version 0 | |
/// | codec | JSON | people and other programs can read it |
/// | compression | none | small values gain nothing |
///
/// ``RedisCaches/apply(_:)`` changes some of them while the cache is in use; each says so.
public struct CacheSettings: Sendable {
    /// How much memory may hold.
    public enum MemorySize: Sendable, Hashable {
        /// This many entries; 0 switches memory off.
        case entries(Int)
        /// Entries of this many bytes in total.
        ///
        /// A ``/Strata/Costed`` value tells its own; any other is encoded at each store to be measured.
        case bytes(Int)
    }

    /// A codec for any `Codable` type.
    public enum StandardCodec: String, Sendable, Hashable, CaseIterable {
        /// JSON with its keys sorted.
        case json
        /// CBOR (RFC 8949): smaller, and several times as fast.
        case cbor
        /// A binary property list.
        case propertyList
    }

    /// How much memory may hold; 10 000 entries by default.
    ///
    /// The number changes while the cache is in use, the unit does not.
    public var memory: MemorySize = .entries(10_000)
    /// The longest an entry stays fresh in memory; `nil`, the default, leaves it to its own lifetime.
    public var memoryLifetime: Duration?
    /// How long an entry stays in memory without being read; `nil`, the default, is for ever.
    public var idleLifetime: Duration?
    /// How long values are fresh, and how long callers wait; changes while the cache is in use.
    public var freshness = FreshnessPolicy()
    /// How the fleet decides which instance fetches; changes while the cache is in use.
    public var leases = LeaseOptions()
    /// How memory learns of changes that others make.
    public var coherence = Coherence.tracking
    /// What becomes of removals while Redis is away, unless their call says so itself.
    public var removals = RemovalMode.confirmed
    /// The name of the keyspace; `nil`, the default, takes that of the cache.
    public var keyspaceName: String?
    /// The text before the keyspace's name; `strata` by default.
    public var prefix = "strata"
    /// The version of the keyspace; 0 by default.
    ///
    /// Another version is another, empty cache.
    public var version = 0
    /// What the keyspace depends on; see ``Keyspace/init(_:version:dependsOn:prefix:)``.
    public var dependsOn: [Keyspace] = []
    /// How values become bytes, unless the cache is made with a codec of its own.
    public var codec = StandardCodec.json
    /// How the bytes are compressed; `nil`, the default, leaves them as the codec makes them.
    ///
    /// What was written without compression can still be read; a codec of the cache's own keeps its own.
    public var compression: ByteStage?
    /// The schema number of the values; `nil`, the default, takes that of their type.
    public var schema: UInt32?

    /// Settings with their defaults.
    public init() {}
}

extension CacheSettings {
    package func keyspace(of name: String) -> Keyspace {
        Keyspace(keyspaceName ?? name, version: version, dependsOn: dependsOn, prefix: prefix)
    }

    /// The codec that the settings name.
    func standardCodec<Value: Codable & Sendable>(of type: Value.Type) -> Codec<Value> {
        let plain: Codec<Value> =
            switch codec {
            case .json: .json
            case .cbor: .cbor
            case .propertyList: .propertyList
            }
        return compression.map { plain.compressed(by: $0) } ?? plain
    }

    /// The settings that differ from others, and wait for the next start of the service.
    func fixed(unlike other: CacheSettings) -> [String] {
        let rows: [(name: String, isSame: Bool)] = [
            ("memory", memory.isSameUnit(as: other.memory)),
            ("memory.lifetime", memoryLifetime == other.memoryLifetime),
            ("memory.idleLifetime", idleLifetime == other.idleLifetime),
            ("coherence", coherence == other.coherence),
            ("removals", removals == other.removals),
            ("keyspace.name", keyspaceName == other.keyspaceName),
            ("keyspace.prefix", prefix == other.prefix),
            ("keyspace.version", version == other.version && dependsOn == other.dependsOn),
            ("codec", codec == other.codec),
            ("compression", compression?.identifier == other.compression?.identifier),
            ("schema", schema == other.schema),
        ]
        return rows.filter { !$0.isSame }.map(\.name)
    }
}

extension CacheSettings.MemorySize {
    /// The number, in whatever unit.
    var total: Int {
        switch self {
        case .entries(let count), .bytes(let count): count
        }
    }

    func isSameUnit(as other: CacheSettings.MemorySize) -> Bool {
        switch (self, other) {
        case (.entries, .entries), (.bytes, .bytes): true
        default: false
        }
    }

    func limit<Value>(of codec: Codec<Value>) -> MemoryLimit<Value> {
        switch self {
        case .entries(let count): return .entries(count)
        case .bytes(let count):
            guard Value.self is any Costed.Type else { return .encodedBytes(count, by: codec) }
            // A text costs its characters, and one of them may have any number of bytes.
            if Value.self == String.self { return .cost(count) { ($0 as? String)?.utf8.count ?? 1 } }
            return .cost(count) { ($0 as? any Costed)?.cost ?? 1 }
        }
    }
}
