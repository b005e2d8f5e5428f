import Strata
import StrataRedis
import Synchronization

/// The service that is shown: descriptions of files, through memory, Redis and the files.
final class DocumentService: Sendable {
    let source: DocumentSource
    let documents: AnyLevel<String, DocumentSummary>
    private let counts: FetchCounts

    init(url: String, keyspace: String, folder: String, memoryLifetime: Duration) throws {
        let redis = try RedisClient(url)
        let source = DocumentSource(folder: folder)
        let counts = FetchCounts()
        self.source = source
        self.counts = counts
        documents = MemoryLevel<String, DocumentSummary>(limit: .entries(1000), lifetime: memoryLifetime)
            .compose(
                RedisLevel(redis, keyspace: Keyspace(keyspace))
                    .fetching { path in
                        counts.add(path)
                        return try await source.summary(of: path)
                    }
            )
            .normalized()
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
