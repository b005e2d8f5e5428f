import Foundation
import Strata
import StrataRedis
import StrataTesting

#if Disk
@testable import StrataDisk
#endif

/// What lies below memory.
enum ProviderBacking: CaseIterable, Sendable {
    case redis
    #if Disk
    case disk
    #endif
}

/// A place for records, and caches over it; a second cache is the service after a restart, or another instance.
final class ProviderPlace: Sendable {
    private let backing: ProviderBacking
    private let redis: RedisClient
    private let name = TestServer.uniqueName()
    private let folder = "/tmp/strata-providers-\(UInt64.random(in: 0 ... .max))"
    /// Exact times, no stale values, and no pause after a failure.
    static let plain = FreshnessPolicy(freshFor: .seconds(300), jitter: 0, earlyRefresh: 0)

    init(_ backing: ProviderBacking) async throws {
        self.backing = backing
        redis = try await TestServer.client()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A cache that keeps in memory what is read from the first moment on.
    func cache(
        _ freshness: FreshnessPolicy = plain,
        failureBackOff: ClosedRange<Duration>? = nil
    ) async throws -> ProviderCache {
        let cache = unreadyCache(freshness, failureBackOff)
        try await Self.ready(cache.levels)
        return cache
    }

    private static func ready(_ levels: some ProviderCache.Levels) async throws {
        let confirming = levels as? any ConfirmingLevel<ProviderRecord.Key, ProviderRecord>
        try await confirming?.readyToConfirm(within: .seconds(60))
    }

    private func unreadyCache(
        _ freshness: FreshnessPolicy,
        _ failureBackOff: ClosedRange<Duration>?
    ) -> ProviderCache {
        switch backing {
        case .redis:
            ProviderCache(
                redis,
                keyspace: Keyspace(name),
                freshness: freshness,
                // Longer than this process stands still beside other load: what is fetched without a lease is not kept.
                leases: LeaseOptions(duration: .seconds(60), failureBackOff: failureBackOff)
            )
        #if Disk
        case .disk:
            ProviderCache(
                DiskLevel(
                    space: DiskSpace(
                        store: DiskStore(path: folder + "/cache.sqlite"),
                        name: name,
                        limit: 300 << 20,
                        whenFull: .sweep
                    ),
                    codec: .records,
                    freshness: freshness,
                    undecodable: .miss
                ),
                memory: .entries(10_000),
                over: Source.perCall(freshness: freshness, failureBackOff: failureBackOff),
                // What was loaded is in the file when the call returns, however late the disk is.
                fillWaitLimit: .seconds(60)
            )
        #endif
        }
    }
}

/// The pages of a user's filters, as RxCache's samples have them.
enum Pages: CacheProvider {
    typealias Value = [String]
    case all
    case filter(String)
    case page(String, Int)

    var name: String { "pages" }
    var key: ProviderKey {
        switch self {
        case .all: .single
        case .filter(let filter): .key(filter)
        case .page(let filter, let page): .group(filter, page)
        }
    }
}

/// A loader that counts its runs.
final class CountedLoader: Sendable {
    struct Failure: Error, Equatable {}

    private let runs = Locked(0)

    var count: Int { runs.withLock { $0 } }

    func load<Value: Sendable>(_ value: Value) -> @Sendable () async throws -> Value {
        {
            self.runs.withLock { $0 += 1 }
            return value
        }
    }

    func failing<Value: Sendable>(_ type: Value.Type = [String].self) -> @Sendable () async throws -> Value {
        {
            self.runs.withLock { $0 += 1 }
            throw Failure()
        }
    }
}
