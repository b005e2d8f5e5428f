import FleetChecker
import Strata
import StrataRedis

/// A cache of a soak: a keyspace with keys of its own, and with what its work needs.
enum SoakRoom: String, CaseIterable {
    /// What most of the work is done with.
    case main
    /// Read past levels on purpose, so that several may fetch a key at once.
    case beside
    /// Changed, reloaded and refreshed by all at once, then left alone for some seconds, in turns.
    case hot
    /// Read by callers who leave.
    case left
    case slow
    case schema
    case large
    case tenants
    /// Set while the way is frozen; without tags and clears, which would void what comes late.
    case late

    /// How many keyspaces the tenants have.
    static let tenantCount = 8
    /// The greatest value of the instances that know of large ones.
    static let bulkLimit = 256 << 10

    /// What of the work uses it; `nil` for all.
    var work: SoakFault? {
        switch self {
        case .main: nil
        case .beside: .options
        case .hot: .refusals
        case .left: .cancels
        case .slow: .slowFetches
        case .schema: .schemaRoll
        case .large: .largeValues
        case .tenants: .keyspaces
        case .late: .lateSets
        }
    }

    private var keyCount: Int {
        switch self {
        case .main: 0
        case .slow: 8
        case .large: 16
        case .hot: 24
        case .beside, .left, .schema, .tenants: 32
        case .late: 96
        }
    }

    /// Its keys; those of the main room come first.
    func keys(_ settings: SoakSettings) -> Range<Int> {
        guard self != .main else { return 0..<settings.keys }
        var first = settings.keys
        for room in Self.allCases where room != .main {
            if room == self { return first..<first + keyCount }
            first += room.keyCount
        }
        return first..<first
    }

    /// The room of a key.
    static func of(_ key: Int, _ settings: SoakSettings) -> SoakRoom {
        allCases.first { $0.keys(settings).contains(key) } ?? .main
    }

    /// How many keys there are in all.
    static func totalKeys(_ settings: SoakSettings) -> Int {
        allCases.map { $0.keys(settings).upperBound }.max() ?? settings.keys
    }

    /// Whether a key is set, by one instance and one task at a time; all others are removed after a write, by any task.
    ///
    /// Two that set a key at once would leave the older value behind if it comes last, with any cache.
    static func isSet(_ key: Int, _ settings: SoakSettings) -> Bool {
        switch of(key, settings) {
        case .main: key % 4 == 0
        case .beside, .hot, .large, .late: true
        case .left, .slow, .schema, .tenants: false
        }
    }

    /// The instance that sets a key; `nil` when the key is not set.
    static func owner(of key: Int, _ settings: SoakSettings) -> Int? {
        isSet(key, settings) ? (key < settings.keys ? key / 4 : key) % settings.instances : nil
    }

    /// Whether a key of the hot room is changed at present; all instances agree on it.
    static func isHot(_ key: Int) -> Bool { (HistoryClock.now() / 1_000_000 + UInt64(key) * 251) % 3_000 < 1_000 }

    // MARK: What its caches are made of

    func keyspace(_ settings: SoakSettings, key: Int = 0) -> Keyspace {
        switch self {
        case .main: Keyspace(settings.keyspace)
        case .tenants: Keyspace("\(settings.keyspace)-\(rawValue)-\(key % Self.tenantCount)")
        default: Keyspace("\(settings.keyspace)-\(rawValue)")
        }
    }

    func freshness(_ settings: SoakSettings) -> FreshnessPolicy {
        switch self {
        case .main, .beside, .schema, .tenants, .late: settings.freshness
        case .hot:
            FreshnessPolicy(
                freshFor: .seconds(6),
                staleWhileRevalidate: .seconds(3),
                staleIfError: .seconds(6),
                softTimeout: .milliseconds(300)
            )
        // Nothing stale to serve: who waits in vain shows.
        case .left, .large: FreshnessPolicy(freshFor: .seconds(5))
        case .slow: FreshnessPolicy(freshFor: .seconds(2))
        }
    }

    var leases: LeaseOptions {
        self == .slow ? LeaseOptions(renewalLimit: .seconds(20), waitLimit: .seconds(1)) : LeaseOptions()
    }

    /// Every third version of a large value is above what a reply may hold.
    var codec: Codec<VersionedValue> {
        guard self == .large else { return .json }
        let json = Codec<VersionedValue>.json
        return Codec(identifier: 200) { value in
            let padding = value.version.isMultiple(of: 3) ? 2 * Self.bulkLimit : 1_000
            return try json.encode(value) + [UInt8](repeating: UInt8(ascii: " "), count: padding)
        } decode: {
            try json.decode($0)
        }
    }
}
