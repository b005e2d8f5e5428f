import Strata
import Testing

@testable import StrataRedis

@Suite("Echoes of one's own writes")
struct OwnWritesTests {
    private let version = EntryVersion.random()

    @Test("a notice for a key that this process has not written is a change")
    func stranger() {
        var writes = OwnWrites()
        #expect(writes.notice(1) == .changed)
    }

    @Test("a notice for an own write is looked into, and the write is kept if it still is the one")
    func echo() {
        var writes = OwnWrites()
        _ = writes.begin(1, version)
        #expect(writes.notice(1) == .look(version))
        #expect(writes.looked(1, for: version, found: version) == .nothing)
        #expect(writes.count == 0)
        #expect(writes.notice(1) == .changed)
    }

    @Test("an own write that was followed by another's is not kept, also when the two notices came as one")
    func merged() {
        for found in [EntryVersion.random(), nil] {
            var writes = OwnWrites()
            _ = writes.begin(1, version)
            #expect(writes.notice(1) == .look(version))
            #expect(writes.looked(1, for: version, found: found) == .changed)
        }
    }

    @Test("a second notice while the look is under way is looked into afterwards")
    func second() {
        var writes = OwnWrites()
        _ = writes.begin(1, version)
        #expect(writes.notice(1) == .look(version))
        #expect(writes.notice(1) == .held)
        #expect(writes.notice(1) == .held)
        #expect(writes.looked(1, for: version, found: version) == .look(version))
        #expect(writes.looked(1, for: version, found: .random()) == .changed)
        #expect(writes.count == 0)
    }

    @Test("a key that changes again and again is looked at a few times, then a notice is believed")
    func changesOften() {
        var writes = OwnWrites()
        _ = writes.begin(1, version)
        #expect(writes.notice(1) == .look(version))
        for _ in 1..<OwnWrites.mostLooks {
            #expect(writes.notice(1) == .held)
            #expect(writes.looked(1, for: version, found: version) == .look(version))
        }
        #expect(writes.notice(1) == .changed)
        #expect(writes.looked(1, for: version, found: version) == .nothing)
    }

    @Test("a write that is over, and of which everything was told, is forgotten; one with a notice is not")
    func told() {
        var writes = OwnWrites()
        let now = MonotonicInstant.now
        for key in 1...3 { _ = writes.begin(UInt64(key), version, at: now.advanced(by: .seconds(key))) }
        #expect(writes.notice(1) == .look(version))
        writes.told(begunBefore: now.advanced(by: .seconds(3)))
        #expect(writes.count == 2)
        #expect(writes.notice(2) == .changed)
        #expect(writes.notice(3) == .look(version))
        #expect(writes.looked(1, for: version, found: version) == .nothing)
    }

    @Test("another own write begins while a look is out: the notice is believed, and the look decides nothing")
    func replaced() {
        var writes = OwnWrites()
        #expect(writes.begin(1, version) == false)
        #expect(writes.notice(1) == .look(version))
        let later = EntryVersion.random()
        #expect(writes.begin(1, later) == true)
        #expect(writes.looked(1, for: version, found: later) == .nothing)
        #expect(writes.notice(1) == .look(later))
    }

    @Test("a write is refused while a look is out: the notice is believed")
    func refused() {
        var writes = OwnWrites()
        _ = writes.begin(1, version)
        #expect(writes.notice(1) == .look(version))
        #expect(writes.abandon(1, version) == true)
        #expect(writes.looked(1, for: version, found: .random()) == .nothing)
    }

    @Test(
        "every notice is believed, or cleared by a look that was sent after it and found the own version",
        arguments: 0..<4
    )
    func walk(number: Int) {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of OwnWritesTests.walk: \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<2_000 {
            var writes = OwnWrites()
            /// What lies at the server, and how often it has been changed.
            var (stored, changes): (EntryVersion?, Int) = (nil, 0)
            /// Up to which change the key was voided, or found to hold an own version.
            var settled = 0
            var (undelivered, sending): (Int, [EntryVersion]) = (0, [])
            var looks: [(version: EntryVersion, found: EntryVersion?, at: Int)] = []
            func step() {
                switch Int.random(in: 0..<7, using: &random) {
                case 0 where sending.count < 2:
                    let version = EntryVersion.random()
                    sending.append(version)
                    if writes.begin(1, version) { settled = changes }
                case 1:
                    guard !sending.isEmpty else { return }
                    // Executed, or refused.
                    let version = sending.removeFirst()
                    if Bool.random(using: &random) {
                        (stored, changes, undelivered) = (version, changes + 1, undelivered + 1)
                    } else if writes.abandon(1, version) {
                        settled = changes
                    }
                case 2:
                    (stored, changes, undelivered) = (
                        Bool.random(using: &random) ? .random() : nil, changes + 1, undelivered + 1
                    )
                case 3 where undelivered > 0: deliver()
                case 4 where !looks.isEmpty: answer()
                default: break
                }
            }
            func deliver() {
                // Notices of one turn come as one.
                undelivered = 0
                switch writes.notice(1) {
                case .changed: settled = changes
                case .look(let version): looks.append((version, stored, changes))
                case .held: break
                }
            }
            func answer() {
                let look = looks.removeFirst()
                switch writes.looked(1, for: look.version, found: look.found) {
                case .changed: settled = changes
                case .look(let version): looks.append((version, stored, changes))
                case .nothing where look.found == look.version: settled = max(settled, look.at)
                case .nothing: break
                }
            }
            for _ in 0..<40 { step() }
            if undelivered > 0 { deliver() }
            while !looks.isEmpty { answer() }
            #expect(settled == changes || !sending.isEmpty)
            for version in sending where writes.abandon(1, version) { settled = changes }
            #expect(settled == changes)
        }
    }

    @Test("a write that failed leaves nothing; a change that was learned of otherwise is believed")
    func abandoned() {
        var writes = OwnWrites()
        _ = writes.begin(1, version)
        #expect(writes.abandon(1, .random()) == false)
        #expect(writes.count == 1)
        #expect(writes.abandon(1, version) == false)
        #expect(writes.notice(1) == .changed)
        _ = writes.begin(1, version)
        writes.believe(1)
        #expect(writes.notice(1) == .changed)
    }

    @Test("memory is bounded; what does not fit is treated as a stranger's")
    func bounded() {
        var writes = OwnWrites()
        for number in 0..<(UInt64(OwnWrites.capacity) + 10) { _ = writes.begin(number, version) }
        #expect(writes.count == OwnWrites.capacity)
        #expect(writes.notice(UInt64(OwnWrites.capacity) + 5) == .changed)
        writes.removeAll()
        #expect(writes.count == 0)
    }
}
