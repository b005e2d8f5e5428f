import Strata
import Testing

@testable import StrataRedis

@Suite("Which parts of a keyspace are trusted in a cluster", .timeLimit(.minutes(5)))
struct PartTrustTests {
    private let a = RedisEndpoint.tcp(host: "a", port: 1)
    private let b = RedisEndpoint.tcp(host: "b", port: 2)
    private let start = MonotonicInstant.now
    private let parts = KeyspacePart.all

    private func after(_ seconds: Int) -> MonotonicInstant { start.advanced(by: .seconds(seconds)) }

    /// The first half of the parts is a's, the second b's.
    private var halves: [Set<RedisEndpoint>?] { parts.map { $0.number < 8 ? [a] : [b] } }

    private func trust() -> PartTrust { PartTrust(lease: 3_000_000_000) }

    private func established(_ effects: [PartTrust.Effect]) -> [KeyspacePart] {
        effects.compactMap { if case .established(let part, _) = $0 { part } else { nil } }
    }

    private func lost(_ effects: [PartTrust.Effect]) -> [KeyspacePart] {
        effects.compactMap { if case .lost(let part) = $0 { part } else { nil } }
    }

    /// Both nodes tell, and have confirmed that they are part of the cluster.
    private func whole() -> PartTrust {
        var trust = trust()
        _ = trust.seen(halves, changed: [], at: start)
        for node in [a, b] {
            _ = trust.confirmed(node, at: start)
            _ = trust.established(node, until: after(3))
        }
        return trust
    }

    @Test("a part stands when the link to its node does, and the node has confirmed that it is part of the cluster")
    func begins() {
        var trust = trust()
        #expect(trust.established(a, until: after(3)) == [])
        #expect(trust.seen(halves, changed: [], at: start) == [])
        #expect(established(trust.confirmed(a, at: start)) == Array(parts[..<8]))
        #expect(trust.missing == [b])
        #expect(trust.confirmed(b, at: start) == [])
        #expect(established(trust.established(b, until: after(3))) == Array(parts[8...]))
        #expect(trust.missing == nil)
    }

    @Test("the loss of a link ends the trust of its own parts only")
    func loss() {
        var trust = whole()
        #expect(trust.lost(a) == parts[..<8].map { .lost($0) })
        #expect(trust.trusted(b, until: after(4), told: after(1)).count == 8)
        #expect(established(trust.established(a, until: after(9))) == Array(parts[..<8]))
    }

    @Test("a part of two nodes is trusted for as long as both, and told of what both have told of")
    func shared() {
        var trust = trust()
        var sets = halves
        sets[7] = [a, b]
        _ = trust.seen(sets, changed: [], at: start)
        for node in [a, b] {
            _ = trust.confirmed(node, at: after(9))
            _ = trust.established(node, until: after(3))
        }
        _ = trust.seen(sets, changed: [], at: after(9))
        _ = trust.trusted(a, until: after(5), told: after(2))
        let effects = trust.trusted(b, until: after(6), told: after(1))
        #expect(effects.contains(.trusted(parts[7], until: after(5), told: after(1))))
        #expect(effects.contains(.trusted(parts[8], until: after(6), told: after(1))))
        #expect(lost(trust.lost(b)).contains(parts[7]))
    }

    @Test("without a look at the map, or a node's word, trust ends however long its link answers")
    func cutOff() {
        var trust = whole()
        #expect(
            trust.trusted(a, until: after(60), told: after(50))
                .contains(.trusted(parts[0], until: after(3), told: after(50)))
        )
        _ = trust.seen(halves, changed: [], at: after(10))
        #expect(
            trust.trusted(a, until: after(60), told: after(50))
                .contains(.trusted(parts[0], until: after(3), told: after(50)))
        )
        _ = trust.confirmed(a, at: after(9))
        #expect(
            trust.trusted(a, until: after(60), told: after(50))
                .contains(.trusted(parts[0], until: after(12), told: after(50)))
        )
    }

    @Test("a part of which a slot has moved is void, and stands anew when the new owner's link does")
    func moved() {
        var trust = whole()
        var sets = halves
        sets[2] = [a, b]
        #expect(
            trust.seen(sets, changed: [2], at: start) == [.lost(parts[2]), .established(parts[2], until: after(3))]
        )
        let c = RedisEndpoint.tcp(host: "c", port: 3)
        sets[3] = [a, c]
        #expect(trust.seen(sets, changed: [3], at: start) == [.lost(parts[3])])
        #expect(trust.missing == [a, c])
        _ = trust.confirmed(c, at: start)
        #expect(established(trust.established(c, until: after(3))) == [parts[3]])
    }

    @Test("a part with a slot that no node serves does not stand")
    func unserved() {
        var trust = whole()
        var sets = halves
        sets[5] = nil
        #expect(trust.seen(sets, changed: [5], at: start) == [.lost(parts[5])])
        #expect(trust.missing == [])
    }
}
