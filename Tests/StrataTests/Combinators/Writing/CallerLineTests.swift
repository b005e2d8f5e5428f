import StrataTesting
import Testing

@testable import Strata

@Suite("Callers that wait for room in a queue of writes")
struct CallerLineTests {
    typealias Pending = PendingWrites<String, Int>

    @Test("they come and leave as in a plain list")
    func walk() {
        var random = SplitMix64(seed: 7)
        var line = Pending.CallerLine()
        var model: [UInt64] = []
        for number in UInt64(1)...4_000 {
            if Int.random(in: 0..<5, using: &random) < (number / 1_000 % 2 == 0 ? 4 : 2) {
                let write = Pending.Write("k", Entry(value: 1), cost: 1, at: .now)
                line.append(Pending.Caller(number: number, write: write, until: .now))
                model.append(number)
            } else if Bool.random(using: &random) {
                #expect(line.removeFirst()?.number == model.first)
                model = Array(model.dropFirst())
            } else if let gone = model.randomElement(using: &random) {
                line.remove(gone)
                line.remove(gone)
                model.removeAll { $0 == gone }
            }
            #expect(line.first?.number == model.first && line.isEmpty == model.isEmpty)
        }
        while let caller = line.removeFirst() { #expect(caller.number == model.removeFirst()) }
        #expect(model.isEmpty)
    }
}
