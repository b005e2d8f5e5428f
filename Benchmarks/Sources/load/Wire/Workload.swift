import ArgumentParser
import StrataRedis

/// What tasks do at the server in `load wire`.
enum Workload: String, CaseIterable, ExpressibleByArgument {
    case get
    case set
    case mget50
    case get16k
    case get64k
    case get1m

    static let small = [UInt8](repeating: 120, count: 100)
    static let smallKey: RedisKey = "load:small"
    static let manyKeys = (0..<50).map { RedisKey("load:many:\($0)") }

    static func prepare(_ redis: RedisClient) async throws {
        try await redis.set(smallKey, small)
        for workload in [Workload.get16k, .get64k, .get1m] {
            try await redis.set(workload.key, [UInt8](repeating: 121, count: workload.bytes))
        }
        for key in manyKeys { try await redis.set(key, small) }
    }

    @inline(__always)
    func run(_ redis: RedisClient) async throws {
        switch self {
        case .get: _ = try await redis.get(Self.smallKey)
        case .set: try await redis.set(Self.smallKey, Self.small)
        case .mget50: _ = try await redis.get(Self.manyKeys)
        case .get16k, .get64k, .get1m: _ = try await redis.get(key)
        }
    }

    /// The key of a read of one key.
    private var key: RedisKey {
        switch self {
        case .get16k: "load:16k"
        case .get64k: "load:64k"
        case .get1m: "load:1m"
        case .get, .set, .mget50: Self.smallKey
        }
    }

    /// The bytes of the values that a call moves.
    var bytes: Int {
        switch self {
        case .get, .set: Self.small.count
        case .mget50: Self.manyKeys.count * Self.small.count
        case .get16k: 16 << 10
        case .get64k: 64 << 10
        case .get1m: 1 << 20
        }
    }

    /// The same as a command line of redis-benchmark.
    var command: [String] {
        let small = String(decoding: Self.small, as: UTF8.self)
        return switch self {
        case .get: ["GET", "load:small"]
        case .set: ["SET", "load:small", small]
        case .mget50: ["MGET"] + Self.manyKeys.map(\.description)
        case .get16k, .get64k, .get1m: ["GET", key.description]
        }
    }

    /// How often redis-benchmark runs it in a round.
    var yardstickCalls: Int { self == .get || self == .set ? 100_000 : self == .get1m ? 2000 : 20_000 }
}
