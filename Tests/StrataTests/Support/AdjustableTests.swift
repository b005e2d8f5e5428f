import Strata
import Testing

@Suite("A setting that changes while it is read", .timeLimit(.minutes(5)))
struct AdjustableTests {
    private final class Tracked: Sendable {
        private let living: Living
        let number: Int

        init(_ number: Int, _ living: Living) {
            self.number = number
            self.living = living
            living.count.withLock { $0 += 1 }
        }

        deinit { living.count.withLock { $0 -= 1 } }
    }

    @Test("no change of a thread is lost, and readers see whole values")
    func concurrent() async {
        let setting = Adjustable((left: 0, right: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<1_000 { setting.change { $0 = ($0.left + 1, $0.right + 1) } } }
                group.addTask {
                    for _ in 0..<1_000 {
                        let value = setting.value
                        #expect(value.left == value.right)
                    }
                }
            }
        }
        #expect(setting.value.left == 4_000)
    }

    @Test("what was replaced is kept for its readers, and goes with the setting")
    func released() {
        let living = Living()
        do {
            let setting = Adjustable(Tracked(0, living))
            for number in 1...10 { setting.change { $0 = Tracked(number, living) } }
            #expect(setting.value.number == 10)
            #expect(living.count.withLock { $0 } == 11)
        }
        #expect(living.count.withLock { $0 } == 0)
    }
}

/// How many values are alive.
private final class Living: Sendable {
    let count = Locked<Int>(0)
}
