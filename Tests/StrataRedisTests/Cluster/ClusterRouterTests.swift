import Strata
import Testing

@testable import StrataRedis

/// The router by itself: what it is told of is said by the test, and nothing is connected.
@Suite("The way to the nodes of a cluster", .timeLimit(.minutes(5)))
struct ClusterRouterTests {
    /// What lives and dies with a node's client.
    private final class Companion: ClientCompanion {
        let ended: @Sendable () -> Void

        init(_ ended: @escaping @Sendable () -> Void) { self.ended = ended }

        var clusterObserver: (any ClusterObserver)? { nil }
        func finish(by deadline: MonotonicInstant, _ client: RedisClient) async {}
        func stop() { ended() }
        func drivers(for thread: LoopThread) -> [any LoopDriver] { [] }
        func connected() {}
        func leave(_ error: RedisError) {}
        func loginChanged(isFirst: Bool) {}
        func shutDown() {}
    }

    private final class Observer: ClusterObserver {
        let exposed = Shared<[UInt16]>([])

        func seen(_ view: ClusterView) {}
        func confirmed(_ endpoint: RedisEndpoint, askedAt: MonotonicInstant) {}
        func exposed(_ slot: UInt16, to node: ClusterNode) { exposed.withLock { $0.append(slot) } }
    }

    private struct Unlocked: Sendable {
        weak let router: ClusterRouter?
    }

    private static let a = RedisEndpoint.tcp(host: "a", port: 1)
    private static let z = RedisEndpoint.tcp(host: "z", port: 2)

    private let observer = Observer()
    /// Whether the router was free when a node's client ended, for each that has.
    private let ends = Shared<[Bool]>([])
    private let router: ClusterRouter

    init() throws {
        let (ends, made) = (ends, Shared<Unlocked?>(nil))
        let configuration = try RedisConfiguration(cluster: [Self.a])
        router = ClusterRouter(configuration, logger: nil, observer: observer) { endpoint in
            try RedisClient(configuration.node(at: endpoint), logger: nil, loop: IOLoop()) { _ in
                Companion {
                    guard let router = made.withLock({ $0?.router }) else { return }
                    let isFree = router.state.withLockIfFree { _ in true } ?? false
                    ends.withLock { $0.append(isFree) }
                }
            } node: { _ in
                fatalError("a node has no nodes")
            }
        }
        made.withLock { [router] in $0 = Unlocked(router: router) }
    }

    /// The first half of the slots is one node's, the second another's.
    private func map(_ first: RedisEndpoint, _ second: RedisEndpoint) throws -> SlotMap {
        func range(_ from: Int64, _ to: Int64, _ endpoint: RedisEndpoint) -> RESPValue {
            guard case .tcp(let host, let port) = endpoint.address else { return .null }
            return .array([.integer(from), .integer(to), .array([.bytes(Array(host.utf8)), .integer(Int64(port))])])
        }
        return try SlotMap(slots: .array([range(0, 8_191, first), range(8_192, 16_383, second)]), from: Self.a)
    }

    @Test("the client of a node that has left ends outside the router's lock")
    func departures() throws {
        _ = router.apply(try map(Self.a, Self.z), epoch: 1, askedAt: .now)
        for node in router.nodes { _ = try node.client() }
        _ = router.apply(try map(Self.a, Self.a), epoch: 2, askedAt: .now)
        #expect(ends.withLock { $0 } == [true])
        for number in 0..<ClusterRouter.mostStrays {
            _ = try router.node(at: .tcp(host: "stray", port: UInt16(number + 1))).client()
        }
        router.state.withLock { state in
            for endpoint in state.strays.keys { state.strays[endpoint]?.usedAt = .distantPast }
        }
        // The configuration's own address has room, too.
        for port in [100, 101] as [UInt16] { _ = try router.node(at: .tcp(host: "new", port: port)) }
        #expect(ends.withLock { $0 } == Array(repeating: true, count: ClusterRouter.mostStrays + 1))
        _ = try router.node(at: .tcp(host: "new", port: 100)).client()
        router.state.withLock { state in
            for endpoint in state.strays.keys { state.strays[endpoint]?.usedAt = .distantPast }
        }
        _ = router.apply(try map(Self.a, Self.a), epoch: 3, askedAt: .now)
        #expect(ends.withLock { $0 } == Array(repeating: true, count: ClusterRouter.mostStrays + 2))
    }

    @Test("more slots move than the map takes over at once: the node to which they go counts for their parts")
    func patches() throws {
        let view = try #require(router.apply(try map(Self.a, Self.z), epoch: 1, askedAt: .now))
        let target = try #require(view.byEndpoint[Self.z])
        for slot in 0..<ClusterRouter.mostPatches { router.moved(UInt16(slot), to: target) }
        #expect(observer.exposed.withLock { $0 } == [])
        router.moved(5_000, to: target)
        #expect(observer.exposed.withLock { $0 } == [5_000])
        #expect(router.view?.map.owner(of: 5_000) == Self.a)
        // What has moved already is not news.
        router.moved(7, to: target)
        #expect(observer.exposed.withLock { $0 } == [5_000])
    }
}
