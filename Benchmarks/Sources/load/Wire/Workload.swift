import ArgumentParser
import StrataRedis

/// What tasks do at the server in `load wire`.
enum Workload: String, CaseIterable, ExpressibleByArgument {
    case get
    case set
    case mget50
    case get16k

    static let small = [UInt8](repeating: 120, count: 100)
    private static let large = [UInt8](repeating: 121, count: 16 << 10)
    static let smallKey: RedisKey = "load:small"
    static let largeKey: RedisKey = "load:large"
    static let manyKeys = (0..<50).map { RedisKey("load:many:\($0)") }

    static func prepare(_ redis: RedisClient) async throws {
        try await redis.set(smallKey, small)
        try await redis.set(largeKey, large)
        for key in manyKeys { try await redis.set(key, small) }
    }

    @inline(__always)
    func run(_ redis: RedisClient) async throws {
        switch self {
        case .get: _ = try await redis.get(Self.smallKey)
        case .set: try await redis.set(Self.smallKey, Self.small)
        case .mget50: _ = try await redis.get(Self.manyKeys)
        case .get16k: _ = try await redis.get(Self.largeKey)
        }
    }

    /// The same as a command line of redis-benchmark.
    var command: [String] {
        let small = String(decoding: Self.small, as: UTF8.self)
        return switch self {
        case .get: ["GET", "load:small"]
        case .set: ["SET", "load:small", small]
        case .mget50: ["MGET"] + Self.manyKeys.map(\.description)
        case .get16k: ["GET", "load:large"]
        }
    }

    /// How often redis-benchmark runs it in a round.
    var yardstickCalls: Int { self == .get || self == .set ? 100_000 : 20_000 }
}
