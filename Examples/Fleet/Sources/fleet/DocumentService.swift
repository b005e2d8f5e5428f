import Logging
import Strata
import StrataRedis
import Synchronization

/// The service that is shown: descriptions of files, through memory, Redis and the files.
final class DocumentService: Sendable {
    let source: DocumentSource
    let documents: AnyLevel<String, DocumentSummary>
    private let redis: RedisClient
    private let counts: FetchCounts

    init(url: String, keyspace: String, folder: String, memoryLifetime: Duration, logger: Logger) throws {
        // With a logger, or an outage goes by without a line.
        let redis = try RedisClient(url, logger: logger)
        let source = DocumentSource(folder: folder)
        let counts = FetchCounts()
        self.redis = redis
        self.source = source
        self.counts = counts
        documents = MemoryLevel<String, DocumentSummary>(limit: .entries(1000), lifetime: memoryLifetime)
            .compose(
                RedisLevel(redis, keyspace: Keyspace(keyspace))
                    .fetching { path in
                        counts.add(path)
                        return try await source.summary(of: path)
                    },
                logger: logger
            )
            .normalized()
    }

    /// Stores what is on its way, tells Redis of the last removals, and closes the connections.
    ///
    /// A service of swift-service-lifecycle lists a `DrainService` and the client instead.
    func end() async {
        await documents.drain(within: .seconds(5))
        await redis.shutDown(within: .seconds(5))
    }

    /// How often this instance has asked the source, by document.
    var fetches: [String: Int] { counts.snapshot }
}

/// Counts calls of the source by key.
final class FetchCounts: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    var snapshot: [String: Int] { counts.withLock { $0 } }

    func add(_ path: String) { counts.withLock { $0[path, default: 0] += 1 } }
}
