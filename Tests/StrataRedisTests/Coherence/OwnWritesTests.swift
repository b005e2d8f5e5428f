import Strata
import Testing

@testable import StrataRedis

@Suite("Echoes of one's own writes")
struct OwnWritesTests {
    private let version = EntryVersion.random()

    private func isOwn(_ finding: OwnWrites.Finding) -> Bool { if case .own = finding { true } else { false } }
    private func isChange(_ finding: OwnWrites.Finding) -> Bool { if case .changed = finding { true } else { false } }
    private func isDecided(_ finding: OwnWrites.Finding) -> Bool { if case .decided = finding { true } else { false } }

    @Test("a notice for a key that nobody here has written is a change")
    func stranger() {
        var writes = OwnWrites()
        #expect(writes.notice(1) == .changed)
    }

    @Test("a notice for an own write is looked into, and the write is kept if it still is the one")
    func echo() {
        var writes = OwnWrites()
        writes.begin(1, version)
        #expect(writes.notice(1) == .look(version))
        #expect(isOwn(writes.looked(1, for: version, found: version)))
        #expect(writes.count == 0)
        #expect(writes.notice(1) == .changed)
    }

    @Test("an own write that was followed by another's is not kept, also when the two notices came as one")
    func merged() {
        for found in [EntryVersion.random(), nil] {
            var writes = OwnWrites()
            writes.begin(1, version)
            #expect(writes.notice(1) == .look(version))
            #expect(isChange(writes.looked(1, for: version, found: found)))
        }
    }

    @Test("a second notice while the look is under way is believed, and what the look finds is of no interest then")
    func second() {
        var writes = OwnWrites()
        writes.begin(1, version)
        #expect(writes.notice(1) == .look(version))
        #expect(writes.notice(1) == .changed)
        #expect(isDecided(writes.looked(1, for: version, found: version)))
    }

    @Test("a look for a write that another own write has replaced decides nothing")
    func replaced() {
        var writes = OwnWrites()
        writes.begin(1, version)
        #expect(writes.notice(1) == .look(version))
        let later = EntryVersion.random()
        writes.begin(1, later)
        #expect(isDecided(writes.looked(1, for: version, found: later)))
        #expect(writes.notice(1) == .look(later))
    }

    @Test("a write that failed leaves nothing; a change that was learned of otherwise is believed")
    func abandoned() {
        var writes = OwnWrites()
        writes.begin(1, version)
        writes.abandon(1, .random())
        #expect(writes.count == 1)
        writes.abandon(1, version)
        #expect(writes.notice(1) == .changed)
        writes.begin(1, version)
        writes.believe(1)
        #expect(writes.notice(1) == .changed)
    }

    @Test("memory is bounded; what does not fit is treated as a stranger's")
    func bounded() {
        var writes = OwnWrites()
        for number in 0..<(UInt64(OwnWrites.capacity) + 10) { writes.begin(number, version) }
        #expect(writes.count == OwnWrites.capacity)
        #expect(writes.notice(UInt64(OwnWrites.capacity) + 5) == .changed)
        writes.removeAll()
        #expect(writes.count == 0)
    }
}
