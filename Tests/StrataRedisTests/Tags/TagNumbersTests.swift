import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The numbers of tags in bounded memory")
struct TagNumbersTests {
    @Test("the highest number of a tag counts, in whichever generation it is")
    func highest() {
        var numbers = TagNumbers(generation: 2)
        let tags = (0..<3).map { TagName("\($0)") }
        #expect(numbers[tags[0]] == nil)
        for tag in tags { #expect(numbers.note(10, for: tag) == nil) }
        #expect(numbers.note(5, for: tags[0]) == nil)
        #expect(numbers[tags[0]] == 10)
        #expect(numbers.note(20, for: tags[0]) == nil)
        #expect(numbers[tags[0]] == 20)
        #expect(numbers.count == 3)
    }

    @Test("who forgets says the highest number of what is forgotten: nothing forgotten is above it")
    func forgets() {
        var random = SplitMix64.announced()
        var numbers = TagNumbers(generation: 8)
        var known: [Int: InvalidationNumber] = [:]
        var floor: InvalidationNumber = 0
        for step in 1...5_000 as ClosedRange<UInt64> {
            let tag = Int.random(in: 0..<40, using: &random)
            let number = Bool.random(using: &random) ? step : InvalidationNumber.random(in: 0..<step, using: &random)
            if number > floor || numbers[TagName("\(tag)")] != nil {
                known[tag] = max(known[tag] ?? 0, number)
                if let forgotten = numbers.note(number, for: TagName("\(tag)")) { floor = max(floor, forgotten) }
            }
            #expect(numbers.count <= 16)
            for (tag, number) in known {
                if let noted = numbers[TagName("\(tag)")] {
                    #expect(noted == number)
                } else {
                    #expect(number <= floor)
                    known[tag] = nil
                }
            }
        }
    }

    @Test("a working set of nearly two generations stays, however often its numbers are read again")
    func stays() {
        var numbers = TagNumbers(generation: 50)
        for _ in 0..<10 {
            for tag in 0..<95 { #expect(numbers.note(3, for: TagName("\(tag)")) == nil) }
        }
        #expect(numbers.count == 95)
    }
}
