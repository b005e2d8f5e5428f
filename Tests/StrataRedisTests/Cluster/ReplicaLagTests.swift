import Strata
import Testing

@testable import StrataRedis

@Suite("What a replica is proved to have")
struct ReplicaLagTests {
    private let primary = RedisEndpoint.tcp(host: "p", port: 1)
    private let replica = RedisEndpoint.tcp(host: "r", port: 1)
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func second(_ seconds: Int) -> MonotonicInstant { start.advanced(by: .seconds(seconds)) }

    private func account(_ offset: Int64, _ history: String = "h", isPrimary: Bool = false) -> ReplicationAccount {
        ReplicationAccount(isPrimary: isPrimary, history: history, offset: offset)
    }

    /// A primary that has answered at 0, 1 and 2 s with 100, 200 and 300 bytes.
    private func lag(_ limit: Duration = .seconds(10)) -> ReplicaLag {
        var lag = ReplicaLag(limit: limit)
        for number in 0...2 {
            lag.told(
                byPrimary: primary,
                account(Int64(number + 1) * 100, isPrimary: true),
                askedAt: second(number)
            )
        }
        return lag
    }

    private func included(_ lag: ReplicaLag, at now: Int, since change: Int = -100) -> MonotonicInstant? {
        lag.proof(of: replica, primary, at: second(now), since: second(change))?.includes
    }

    @Test(
        "it has what the primary had acknowledged before the last question whose answer it has reached",
        arguments: [(99, nil), (100, 0), (199, 0), (250, 1), (300, 2), (9_999, 2)] as [(Int64, Int?)]
    )
    func offsets(offset: Int64, expected: Int?) {
        var lag = lag()
        #expect(included(lag, at: 3) == nil, "it has not said anything")
        lag.told(byReplica: replica, of: primary, account(offset), over: start)
        #expect(included(lag, at: 3) == expected.map { second($0) })
    }

    @Test("it is not read when that is longer ago than the limit, or before a change that it has to have")
    func limits() {
        var lag = lag()
        lag.told(byReplica: replica, of: primary, account(200), over: start)
        #expect(included(lag, at: 11) == second(1))
        #expect(included(lag, at: 12) == nil)
        #expect(included(lag, at: 3, since: 1) == second(1))
        #expect(included(lag, at: 3, since: 2) == nil)
        #expect(lag.proof(of: replica, replica, at: second(3), since: start) == nil, "another primary's")
    }

    @Test("another history, a primary in its place, and an answer behind all that is known are no proof")
    func refuted() {
        for told in [account(9_999, "other"), account(9_999, isPrimary: true), account(99)] {
            var lag = lag()
            lag.told(byReplica: replica, of: primary, account(300), over: start)
            lag.told(byReplica: replica, of: primary, told, over: start)
            #expect(included(lag, at: 3) == nil)
        }
        var silent = lag()
        silent.told(byReplica: replica, of: primary, account(300), over: start)
        silent.told(byReplica: replica, of: primary, nil, over: start)
        silent.told(byReplica: replica, of: primary, account(300), over: nil)
        #expect(included(silent, at: 3) == second(2), "silence takes nothing away, and proves nothing")
    }

    @Test("a primary that begins another history, or is none any more, does not vouch for the old one")
    func otherHistory() {
        var begun = lag()
        begun.told(byPrimary: primary, account(10, "new", isPrimary: true), askedAt: second(3))
        begun.told(byReplica: replica, of: primary, account(300), over: start)
        #expect(included(begun, at: 3) == nil)
        begun.told(byReplica: replica, of: primary, account(10, "new"), over: start)
        #expect(included(begun, at: 3) == second(3))

        var demoted = lag()
        demoted.told(byPrimary: primary, account(400), askedAt: second(3))
        demoted.told(byReplica: replica, of: primary, account(400), over: start)
        #expect(included(demoted, at: 3) == nil)

        var silent = lag()
        silent.told(byPrimary: primary, nil, askedAt: second(3))
        silent.told(byReplica: replica, of: primary, account(400), over: start)
        #expect(included(silent, at: 3) == second(2))
    }

    @Test("answers that come in another order, and a thousand of them")
    func order() {
        var lag = lag()
        lag.told(byPrimary: primary, account(900, isPrimary: true), askedAt: second(1))
        lag.told(byReplica: replica, of: primary, account(900), over: start)
        #expect(included(lag, at: 3) == second(2))
        for number in 0..<1_000 {
            lag.told(byPrimary: primary, account(Int64(900 + number), isPrimary: true), askedAt: second(3 + number))
        }
        // What has lagged behind all that is kept is not read.
        lag.told(byReplica: replica, of: primary, account(900), over: start)
        #expect(lag.proof(of: replica, primary, at: second(1_002), since: start) == nil)
        lag.keep(ReplicaMap())
        lag.told(byReplica: replica, of: primary, account(99_999), over: start)
        #expect(lag.proof(of: replica, primary, at: second(1_002), since: start) == nil)
    }

    @Test("what servers say of themselves")
    func accounts() {
        func read(_ text: String) -> ReplicationAccount? { ReplicationAccount(.bytes(Array(text.utf8))) }
        let shared = "# Replication\r\nmaster_replid:abc\r\nmaster_repl_offset:7\r\nslave_repl_offset:5\r\n"
        #expect(read(shared + "role:master\r\n") == account(7, "abc", isPrimary: true))
        #expect(read(shared + "role:slave\r\n") == account(5, "abc"))
        #expect(read(shared) == nil && read("role:master\r\n") == nil && read("") == nil)
        #expect(read(shared + "role:sentinel\r\n") == nil)
        #expect(ReplicationAccount(.null) == nil)
    }

    @Test("keys that were changed count as changed, for as long as a change may take; others in their row do, too")
    func changes() {
        let changes = RecentChanges(margin: .seconds(2))
        #expect(changes.last(of: 1 << 16) == .distantPast)
        changes.heard(1 << 16, at: second(5))
        changes.heard(1 << 16, at: second(4))
        #expect(changes.last(of: 1 << 16) == second(5))
        #expect(changes.last(of: 2 << 16) == .distantPast)
        changes.begins(1 << 16, at: second(5))
        #expect(changes.last(of: 1 << 16) == second(7))
        changes.heardOfAll(at: second(6))
        #expect(changes.last(of: 1 << 16) == second(7) && changes.last(of: 2 << 16) == second(6))
        #expect(changes.last(of: UInt64(RecentChanges.rows + 1) << 16) == second(7))
    }
}
