import Strata
import Testing

@testable import StrataRedis

/// The links of nodes that are played: what they tell is said by the test.
@Suite("Of which nodes a keyspace in a cluster is told", .timeLimit(.minutes(5)))
struct ClusterLinksTests {
    private final class Listener: PartListener {
        private let heard = Shared<[String]>([])

        var told: [String] {
            heard.withLock { heard in
                defer { heard = [] }
                return heard
            }
        }

        private func add(_ what: String, _ part: KeyspacePart?) {
            heard.withLock { $0.append("\(what) \(part?.number ?? -1)") }
        }

        func established(_ part: KeyspacePart?, trustedUntil: MonotonicInstant) { add("established", part) }
        func trusted(_ part: KeyspacePart?, until: MonotonicInstant, told: MonotonicInstant) {}
        func lost(_ part: KeyspacePart?) { add("lost", part) }
        func changed(_ name: [UInt8]) {}
        func marksChanged(_ part: KeyspacePart?) {}
        func everythingChanged(_ part: KeyspacePart?) { add("flushed", part) }
        func event(_ message: [UInt8], _ part: KeyspacePart?) {}
    }

    private struct NoDescriptor: Error {}

    private static let a = RedisEndpoint.tcp(host: "a", port: 1)
    private static let z = RedisEndpoint.tcp(host: "z", port: 2)

    private let listener = Listener()
    private let attempts = Shared(0)
    private let links: ClusterLinks
    private let nodes: [RedisEndpoint: ClusterNode]
    private let first: ClusterView

    init() throws {
        let attempts = attempts
        nodes = Dictionary(
            uniqueKeysWithValues: [Self.a, Self.z]
                .map { endpoint in
                    let node = ClusterNode(endpoint) { _ in
                        attempts.withLock { $0 += 1 }
                        throw NoDescriptor()
                    }
                    return (endpoint, node)
                }
        )
        // The first half of the slots is a's, the second z's.
        func range(_ first: Int64, _ last: Int64, _ host: String, _ port: Int64) -> RESPValue {
            .array([.integer(first), .integer(last), .array([.bytes(Array(host.utf8)), .integer(port)])])
        }
        let map = try SlotMap(slots: .array([range(0, 8_191, "a", 1), range(8_192, 16_383, "z", 2)]), from: Self.a)
        first = ClusterView(map, after: nil, epoch: 1, askedAt: .now) { [nodes] in nodes[$0]! }
        // A node to which keys went counts until the next view only.
        links = ClusterLinks(RedisConfiguration(endpoint: Self.a), exposure: .zero) {}
    }

    private func next(after view: ClusterView) -> ClusterView {
        ClusterView(view.map, after: view, epoch: 1, askedAt: .now) { nodes[$0]! }
    }

    /// Begins to listen; both nodes tell.
    private func whole() -> UInt64 {
        links.seen(first)
        let number = links.add(listener, for: "products")
        for endpoint in [Self.a, Self.z] {
            links.confirmed(endpoint, askedAt: .now)
            links.note(number) { $0.established(endpoint, until: .distantFuture) }
        }
        #expect(listener.told.count { $0.hasPrefix("established") } == KeyspacePart.count)
        return number
    }

    @Test("keys of a part go to another node: the part is void then, and when that node no longer counts for it")
    func exposure() {
        _ = whole()
        links.exposed(5, to: nodes[Self.z]!)
        #expect(listener.told == ["lost 0", "established 0"])
        // What was read at z meanwhile is told by z alone.
        links.seen(next(after: first))
        #expect(listener.told == ["lost 0", "established 0"])
        links.seen(next(after: next(after: first)))
        #expect(listener.told == [])
    }

    @Test("keys went to a node that serves slots of their part: nothing is void when that is forgotten")
    func exposureToOwner() {
        _ = whole()
        links.exposed(9_000, to: nodes[Self.z]!)
        #expect(links.exposures == 1)
        links.seen(next(after: first))
        #expect(links.exposures == 0)
        #expect(listener.told == [])
    }

    @Test(
        "nodes to which keys went are forgotten in time, also while the cluster is not seen, and their parts are void then"
    )
    func exposuresEnd() {
        _ = whole()
        for number in 1...100 {
            let endpoint = RedisEndpoint.tcp(host: "stray", port: UInt16(number))
            links.exposed(UInt16(number * 100), to: ClusterNode(endpoint) { _ in throw NoDescriptor() })
            #expect(links.exposures == 1)
        }
        // Slot 10 000 is in a part that waits for the last one.
        #expect(listener.told.last == "lost 9")
        links.confirmed(Self.a, askedAt: .now)
        #expect(links.exposures == 0)
        #expect(listener.told == ["established 9"])
    }

    @Test("a node is flushed: its own parts are void, and those of which keys have gone there")
    func flushed() {
        let number = whole()
        links.exposed(5, to: nodes[Self.z]!)
        _ = listener.told
        links.flushed(Self.z, for: number)
        #expect(listener.told == ["flushed 0"] + (8..<16).map { "flushed \($0)" })
    }

    @Test("a node whose client cannot be made is tried again with the next view")
    func attach() {
        _ = whole()
        #expect(attempts.withLock { $0 } == 2)
        links.seen(next(after: first))
        #expect(attempts.withLock { $0 } == 4)
    }
}
