#if Dashboard
import Hummingbird
import ServiceLifecycle
import Strata
import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What happens in a keyspace, as server-sent events, until the reader leaves, its session ends or the program does.
struct DashboardStream: Sendable {
    let redis: RedisClient
    let keyspace: Keyspace
    let interval: Duration
    /// Whether the consistency of the instances is measured as well.
    let verifies: Bool
    /// Whether the reader may go on reading.
    let isAllowed: @Sendable () -> Bool

    /// How many events wait for a slow reader; older ones are left out.
    private static let buffer = 256
    private static let mostLeases = 50
    /// How long between two walks over the database.
    private static let walkPause: Duration = .seconds(60)
    private static let mostKeys = 10

    func write(to writer: inout some ResponseBodyWriter) async throws {
        let (texts, feed) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(Self.buffer))
        let leased = LeasedKeys(limit: Self.mostLeases)
        let (walks, walk) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        walk.yield()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await sample(into: feed, leased) }
            group.addTask { await watch(into: feed, leased) { walk.yield() } }
            group.addTask {
                for await _ in walks {
                    await find(leased)
                    guard (try? await Task.pause(for: Self.walkPause)) != nil else { return }
                }
            }
            group.addTask {
                while isAllowed() {
                    guard (try? await Task.pause(for: .seconds(1))) != nil else { return }
                }
                feed.finish()
            }
            if verifies { group.addTask { await verify(into: feed) } }
            // The server waits for all that is under way, and this would never end.
            group.addTask {
                try? await gracefulShutdown()
                feed.finish()
            }
            for await text in texts { try await writer.write(ByteBuffer(string: text)) }
            group.cancelAll()
        }
    }

    private static func event(_ name: String, _ content: some Encodable) -> String {
        let text = (try? JSONDocument.line(of: content)) ?? "{}"
        return "event: \(name)\ndata: \(text)\n\n"
    }

    private struct Trouble: Encodable {
        let text: String
    }

    /// An event of the keyspace; keys and tags are escaped.
    private struct Change: Encodable {
        let time: String
        let event: String
        let subject: String

        init(_ line: WatchLine) {
            time = line.time
            event = line.event
            subject = line.cells.last ?? ""
        }
    }

    /// Looks for the leases that stand already.
    ///
    /// That walks over the database, and so is done at the beginning, and when changes have not been told for a while.
    private func find(_ leased: LeasedKeys) async {
        guard let found = try? await KeyspaceInspector(redis, keyspace).leases(limit: Self.mostLeases) else { return }
        for lease in found.leases { leased.add(lease.key) }
    }

    private func sample(into feed: AsyncStream<String>.Continuation, _ leased: LeasedKeys) async {
        defer { feed.finish() }
        let fleet = FleetInspector(redis, keyspace)
        let inspector = KeyspaceInspector(redis, keyspace)
        var before: FleetSample?
        while !Task.isCancelled {
            do {
                let sample = try await FleetSample.take(
                    fleet,
                    limit: 200,
                    hottest: Self.mostKeys,
                    within: min(interval, .seconds(1))
                )
                let leases = try await leased.leases(by: inspector)
                let rates = FleetRates(from: before, to: sample)
                let place = redis.configuration.place
                let page = TopPage(keyspace, at: place, sample, rates, mostKeys: Self.mostKeys)
                feed.yield(Self.event("sample", DashboardSample(page, sample, rates, leases)))
                before = sample
            } catch let error as RedisError {
                before = nil
                feed.yield(Self.event("trouble", Trouble(text: error.description)))
            } catch {
                return
            }
            guard (try? await Task.pause(for: interval)) != nil else { return }
        }
    }

    private func watch(
        into feed: AsyncStream<String>.Continuation,
        _ leased: LeasedKeys,
        missing: @escaping @Sendable () -> Void
    ) async {
        try? await KeyspaceWatch(redis, keyspace, limit: 1_000)
            .listening { events in
                for await event in events {
                    switch event {
                    case .listening, .leftOut: missing()
                    default: break
                    }
                    // Leases are in every sample.
                    if case .lease(let key) = event {
                        leased.add(key)
                        continue
                    }
                    let now = Int64(Date().timeIntervalSince1970 * 1000)
                    feed.yield(Self.event("change", Change(WatchLine(event, lease: nil, now: now))))
                }
            }
    }

    private func verify(into feed: AsyncStream<String>.Continuation) async {
        let monitor = ConsistencyMonitor(
            redis,
            keyspace: keyspace,
            delays: [.milliseconds(100), .seconds(1), .seconds(3)],
            rate: 20,
            mostInstances: 100
        )
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await monitor.run() }
            while !Task.isCancelled {
                var page = VerifyPage(keyspace)
                page.report = monitor.report
                let table = page.table
                feed.yield(
                    Self.event("nines", DashboardSample.Grid(titles: table.columns.map(\.title), rows: table.rows))
                )
                guard (try? await Task.pause(for: interval)) != nil else { break }
            }
            group.cancelAll()
        }
    }
}

/// The keys of which a lease stands, or did a moment ago.
private final class LeasedKeys: Sendable {
    private let limit: Int
    /// With how often they were told.
    private let keys = Locked<[InspectedKey: Int]>([:])

    init(limit: Int) {
        self.limit = limit
    }

    func add(_ key: InspectedKey) {
        keys.withLock { if $0.count < limit || $0[key] != nil { $0[key, default: 0] += 1 } }
    }

    /// The leases that stand; two commands for each key.
    func leases(by inspector: KeyspaceInspector) async throws -> [LeaseInspection] {
        let known = keys.withLock { Array($0) }
        let leases = try await inspector.leases(of: known.map(\.key))
        keys.withLock { keys in
            // One that was taken anew meanwhile was told again.
            for (told, lease) in zip(known, leases) where lease == nil && keys[told.key] == told.value {
                keys[told.key] = nil
            }
        }
        return leases.compactMap(\.self)
    }
}
#endif
