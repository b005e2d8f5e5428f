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
}
