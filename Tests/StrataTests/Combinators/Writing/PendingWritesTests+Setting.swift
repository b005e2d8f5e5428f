import Testing

@testable import Strata

/// Writes that are being put into the cache.
extension PendingWritesTests {
    @Test("who waits for all writes waits for one that is being cached, too, until it is made")
    func waitingForSetting() throws {
        let rig = Rig()
        #expect(rig.begin(1, "a") && rig.wait(71))
        rig.advance(.seconds(1))
        #expect(rig.finished.isEmpty && rig.batches.isEmpty)
        rig.pending.commit("a", .late())
        rig.advance()
        rig.succeed(try #require(rig.take()))
        #expect(rig.finished.map(\.waiter) == [71] && rig.finished[0].error == nil)
    }

    @Test("who waits for a write that its caller takes back is told")
    func waitingForAbandoned() {
        let rig = Rig()
        #expect(rig.begin(1, "a") && rig.wait(71))
        rig.pending.abandon("a")
        rig.advance()
        #expect(rig.finished.map(\.waiter) == [71] && rig.finished[0].error == nil)
        #expect(rig.pending.isEmpty)
    }

    @Test("what leaves is handed out: to release it may run code of the user's, which must not happen under the lock")
    func handedOut() throws {
        let rig = Rig()
        rig.set(1, for: "a")
        rig.set(2, for: "a")
        #expect(rig.gone.writes.map(\.entry.value) == [1] && rig.gone.keys.isEmpty)
        rig.advance(.milliseconds(100))
        rig.succeed(try #require(rig.take()))
        #expect(rig.gone.writes.map(\.entry.value) == [2] && rig.gone.keys == ["a"])
        #expect(rig.begin(3, "b"))
        rig.pending.abandon("b")
        rig.advance()
        #expect(rig.gone.writes.map(\.entry.value) == [3] && rig.gone.keys == ["b"])
    }

    @Test("so is the write of a caller that leaves or is refused, and an error that a caller does not wait to hear")
    func handedOutToo() throws {
        let rig = Rig {
            $0.batch = 1
            $0.limit = 2
            $0.isTransient = { _ in false }
        }
        rig.set(1, for: "a")
        rig.set(2, for: "b")
        let end = rig.now.advanced(by: .seconds(1))
        #expect(!rig.begin(3, "c", as: 71, until: end) && !rig.begin(4, "d", as: 72, until: end))
        rig.pending.leave(71)
        rig.advance()
        #expect(rig.gone.writes.map(\.entry.value) == [3])
        rig.advance(.seconds(1))
        #expect(rig.refused == [72] && rig.gone.writes.map(\.entry.value) == [4])
        #expect(rig.wait(73))
        rig.fail(try #require(rig.take()))
        rig.pending.dismiss(73)
        rig.advance()
        #expect(rig.gone.errors.count == 1 && rig.gone.errors.first is Failure)
    }
}
