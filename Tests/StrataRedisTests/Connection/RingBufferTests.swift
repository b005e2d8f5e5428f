import Strata
import Testing

@testable import StrataRedis

@Suite("The ring buffer")
struct RingBufferTests {
    @Test("it is as an array, for random operations")
    func likeAnArray() {
        var random = SplitMix64.announced()
        for capacity in [0, 1, 8, 9, 64] {
            var ring = RingBuffer<Int>(capacity: capacity)
            var model: [Int] = []
            for step in 0..<5_000 {
                // Fills for a while, then empties, so that it wraps and grows.
                let fills = step / 500 % 2 == 0
                switch Int.random(in: 0...9, using: &random) {
                case 0...(fills ? 5 : 2):
                    ring.append(step)
                    model.append(step)
                case 9 where !model.isEmpty:
                    let position = Int.random(in: 0..<model.count, using: &random)
                    ring[position] = -step
                    model[position] = -step
                case 8 where random.once(in: 200):
                    ring.removeAll()
                    model = []
                default:
                    let first = ring.popFirst()
                    #expect(first == model.first)
                    if !model.isEmpty { model.removeFirst() }
                }
                #expect(ring.count == model.count && ring.isEmpty == model.isEmpty && ring.first == model.first)
                if step % 50 == 0 { #expect((0..<ring.count).map { ring[$0] } == model) }
            }
        }
    }

    @Test("it grows while wrapped around, at every offset")
    func growsWrapped() {
        for offset in 0..<16 {
            var ring = RingBuffer<Int>(capacity: 8)
            for number in 0..<offset {
                ring.append(number)
                #expect(ring.popFirst() == number)
            }
            for number in 0..<40 { ring.append(number) }
            #expect((0..<40).map { ring[$0] } == Array(0..<40))
            for number in 0..<40 { #expect(ring.popFirst() == number) }
            #expect(ring.popFirst() == nil)
        }
    }

    @Test("what was taken out is let go at once")
    func letsGo() {
        final class Token: Sendable {}
        var ring = RingBuffer<Token>()
        weak var weakly: Token?
        do {
            let token = Token()
            weakly = token
            ring.append(token)
        }
        #expect(weakly != nil)
        #expect(ring.popFirst() != nil)
        #expect(weakly == nil)
    }
}
