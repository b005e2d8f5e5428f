import StrataTesting
import Testing

@testable import Strata

@Suite("A watch over deadlines", .timeLimit(.minutes(5)))
struct WatchTests {
    private final class Owner: Watched {
        struct State {
            var deadlines: [MonotonicInstant] = []
            var seen = 0
            var early = 0
            var looks = 0
            /// Set as soon as the watch looks for the first time, after it has been told that nothing is due.
            var late: Duration?
        }

        private let state = Locked(State())
        private let watch = Watch()

        var seen: Int { state.withLock { $0.seen } }
        var early: Int { state.withLock { $0.early } }
        var looks: Int { state.withLock { $0.looks } }

        init(late: Duration? = nil) {
            state.withLock { $0.late = late }
        }

        func add(_ wait: Duration) {
            let deadline = MonotonicInstant.now.advanced(by: wait)
            state.withLock { $0.deadlines.append(deadline) }
            watch.schedule(self, by: deadline)
        }

        func fire(at now: MonotonicInstant) -> MonotonicInstant {
            let (next, late) = state.withLock { state in
                state.looks += 1
                let due = state.deadlines.count { $0 <= now }
                if due == 0 { state.early += 1 }
                state.seen += due
                state.deadlines.removeAll { $0 <= now }
                return (state.deadlines.min() ?? .distantFuture, state.late.take())
            }
            if let late { add(late) }
            return next
        }
    }

    @Test("each deadline is seen to, in whatever order they are set, and none before its time")
    func order() async throws {
        let owner = Owner()
        for wait in [30, 1, 10, 0, 20, -5, 10] { owner.add(.milliseconds(wait)) }
        while owner.seen < 7 { try await nextTurn() }
        owner.add(.milliseconds(1))
        while owner.seen < 8 { try await nextTurn() }
        // Alone: of several that are due together a second firing may find nothing left.
        for wait in [1, 20] {
            let alone = Owner()
            alone.add(.milliseconds(wait))
            while alone.seen < 1 { try await nextTurn() }
            #expect(alone.early == 0)
        }
    }

    @Test("a deadline that is set while the watch looks is not missed", arguments: [0, 1, 5])
    func duringLook(milliseconds: Int) async throws {
        let owner = Owner(late: .milliseconds(milliseconds))
        owner.add(.milliseconds(1))
        while owner.seen < 2 { try await nextTurn() }
    }

    @Test("many deadlines take few looks")
    func together() async throws {
        let owner = Owner()
        for number in 0..<1000 { owner.add(.milliseconds(20) + .microseconds(number)) }
        while owner.seen < 1000 { try await nextTurn() }
        #expect(owner.looks < 500)
    }

    @Test("it does not keep its owner alive")
    func owner() {
        var owner: Owner? = Owner()
        weak let held = owner
        owner?.add(.seconds(3600))
        owner = nil
        #expect(held == nil)
    }
}
