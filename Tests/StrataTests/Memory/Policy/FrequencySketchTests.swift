import Testing

@testable import Strata

@Suite("Frequency sketch")
struct FrequencySketchTests {
    private func hash(_ key: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: EvictionPolicy.mix(UInt64(key) &+ 1) >> 32)
    }

    @Test("What left is remembered with at least its count, and as having left lately")
    func remembers() {
        var sketch = FrequencySketch(blockCount: 64)
        for key in 0..<100 { sketch.retire(hash(key), count: UInt8(key % 16), at: 0) }
        for key in 0..<100 {
            let past = sketch.recall(hash(key), at: 0)
            #expect(past & FrequencySketch.maximum >= UInt8(key % 16))
            #expect(past & FrequencySketch.returned != 0)
        }
    }

    @Test("Few keys are mistaken for others")
    func isSelective() {
        var sketch = FrequencySketch(blockCount: 64)
        for key in 0..<320 { sketch.retire(hash(key), count: 9, at: 0) }
        let strangers = (1000..<11_000).map { sketch.recall(hash($0), at: 0) }
        #expect(strangers.filter { $0 & FrequencySketch.maximum > 0 }.count < 1000)
        #expect(strangers.filter { $0 & FrequencySketch.returned != 0 }.count < 20)
    }

    @Test("Counts are halved for every epoch", arguments: [(0, 12), (1, 6), (2, 3), (3, 1), (4, 0), (200, 0)])
    func forgets(epochs: Int, expected: Int) {
        var sketch = FrequencySketch(blockCount: 64)
        sketch.retire(hash(1), count: 12, at: 250)
        let past = sketch.recall(hash(1), at: 250 &+ UInt8(epochs))
        #expect(Int(past & FrequencySketch.maximum) == expected)
        #expect(Int(aged(12, from: 250, to: 250 &+ UInt8(epochs))) == expected)
    }

    @Test("The mark of having left lately goes after as many others as about fill the cache")
    func ghostsPass() {
        var sketch = FrequencySketch(blockCount: 64)
        for key in 0..<5000 { sketch.retire(hash(key), count: 0, at: 0) }
        func share(_ keys: Range<Int>) -> Double {
            Double(keys.filter { sketch.recall(hash($0), at: 0) & FrequencySketch.returned != 0 }.count)
                / Double(keys.count)
        }
        // 64 blocks belong to a cache of some 340 entries.
        #expect(share(4850..<5000) > 0.95)
        #expect(share(3000..<4000) < 0.05)
    }

    @Test("Doubling loses nothing")
    func doubles() {
        var sketch = FrequencySketch(blockCount: 65)
        for key in 0..<100 { sketch.retire(hash(key), count: 7, at: 3) }
        sketch.double()
        #expect(sketch.blockCount == 130)
        for key in 0..<100 {
            let past = sketch.recall(hash(key), at: 3)
            #expect(past & FrequencySketch.maximum >= 7 && past & FrequencySketch.returned != 0)
        }
    }
}
