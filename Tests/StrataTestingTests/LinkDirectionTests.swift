import StrataTesting
import Testing

@Suite("One direction of a faulty link")
struct LinkDirectionTests {
    let start = ContinuousClock.now

    @Test("A faultless link hands on what it gets, and then the end")
    func faultless() {
        var direction = LinkDirection.faulty()
        direction.receive("abc", at: start)
        direction.receive("de", at: start)
        direction.receiveEnd(at: start)
        let (pieces, then) = direction.drain(at: start)
        #expect(pieces == ["abc", "de"])
        #expect(then == .end)
        #expect(direction.nextAction(at: start) == .idle)
        #expect(direction.counts.received == 5)
        #expect(direction.counts.delivered == 5)
    }

    @Test("A partial send leaves the rest in place")
    func partialSend() {
        var direction = LinkDirection.faulty()
        direction.receive("abc", at: start)
        direction.sent(2, at: start)
        #expect(direction.nextAction(at: start) == .send(ArraySlice("c".utf8)))
    }

    @Test("A delay holds bytes and the end, and not longer than that")
    func delay() {
        var direction = LinkDirection.faulty(.delayed(by: .seconds(5)))
        direction.receive("ab", at: start)
        direction.receive("cd", at: start + .seconds(1))
        direction.receiveEnd(at: start + .seconds(2))
        #expect(direction.nextAction(at: start) == .wait(until: start + .seconds(5)))
        #expect(direction.drain(at: start + .seconds(5)) == (["ab"], .wait(until: start + .seconds(6))))
        #expect(direction.drain(at: start + .seconds(6)) == (["cd"], .wait(until: start + .seconds(7))))
        #expect(direction.drain(at: start + .seconds(7)) == ([], .end))
    }

    @Test("Jitter adds to the delay, keeps the order, and repeats with the seed")
    func jitter() {
        func releases(seed: UInt64) -> [LinkDirection.Instant] {
            var direction = LinkDirection(.delayed(by: .seconds(1), jitter: .seconds(1)), seed: seed)
            return (0..<50)
                .map { _ in
                    direction.receive("x", at: start)
                    guard case .wait(let moment) = direction.nextAction(at: start) else { return start }
                    _ = direction.drain(at: moment)
                    return moment
                }
        }
        let first = releases(seed: 7)
        #expect(first == first.sorted())
        #expect(first.allSatisfy { (start + .seconds(1)...start + .seconds(2)).contains($0) })
        #expect(Set(first).count > 1)
        #expect(first == releases(seed: 7))
        #expect(first != releases(seed: 8))
    }

    @Test("A rate spreads bytes evenly over time")
    func rate() {
        var direction = LinkDirection.faulty(.slow(bytesPerSecond: 1000))
        direction.receive(String(repeating: "x", count: 25), at: start)
        #expect(direction.drain(at: start) == (["xxxxxxxxxx"], .wait(until: start + .milliseconds(10))))
        #expect(direction.drain(at: start + .milliseconds(10)).pieces == ["xxxxxxxxxx"])
        // What a late wake-up missed is made good, once.
        #expect(direction.drain(at: start + .milliseconds(24)).pieces == ["xxxxx"])
        direction.receive(String(repeating: "y", count: 100), at: start + .seconds(60))
        #expect(direction.drain(at: start + .seconds(60)).pieces == ["yyyyyyyyyy", "yyyyyyyyyy"])
    }

    @Test("Pieces have the size and the distance asked for")
    func pieces() {
        var direction = LinkDirection.faulty(.pieces(of: 2...2))
        direction.receive("abcde", at: start)
        #expect(direction.drain(at: start) == (["ab", "cd", "e"], .idle))
        direction.change { $0 = .pieces(of: 1...1, every: .seconds(1)) }
        direction.receive("xy", at: start)
        #expect(direction.drain(at: start) == (["x"], .wait(until: start + .seconds(1))))
        #expect(direction.drain(at: start + .seconds(1)).pieces == ["y"])
        direction.change { $0 = .pieces(of: 1...3) }
        direction.receive(String(repeating: "z", count: 300), at: start + .seconds(9))
        let sizes = direction.drain(at: start + .seconds(9)).pieces.dropLast().map(\.count)
        #expect(Set(sizes) == [1, 2, 3])
    }

    @Test("A stalled link neither delivers nor reads, and then goes on where it was")
    func stall() {
        var direction = LinkDirection.faulty()
        direction.receive("abc", at: start)
        direction.change { $0.isStalled = true }
        #expect(direction.nextAction(at: start) == .idle)
        #expect(direction.room == 0)
        direction.change { $0.isStalled = false }
        #expect(direction.drain(at: start).pieces == ["abc"])
        #expect(direction.room == 1 << 20)
    }

    @Test("A black hole takes everything and gives no end until it is healed")
    func blackhole() {
        var direction = LinkDirection.faulty()
        direction.receive("abc", at: start)
        direction.change { $0.isBlackhole = true }
        direction.receive("de", at: start)
        direction.receiveEnd(at: start)
        #expect(direction.nextAction(at: start) == .idle)
        #expect(direction.counts.swallowed == 5)
        direction.heal(at: start)
        #expect(direction.drain(at: start) == ([], .end))
    }

    @Test("No more is read than the buffer may hold")
    func buffer() {
        var conditions = LinkConditions.delayed(by: .seconds(1))
        conditions.bufferLimit = 4
        var direction = LinkDirection.faulty(conditions)
        #expect(direction.room == 4)
        direction.receive("abc", at: start)
        #expect(direction.room == 1)
        direction.receive("d", at: start)
        #expect(direction.room == 0)
        #expect(direction.drain(at: start + .seconds(1)).pieces == ["abc", "d"])
        #expect(direction.room == 4)
    }

    @Test(
        "Each edit does its work at its place",
        arguments: [
            (WireEdit.corrupt(byteAt: 2, mask: 0x20), "abCdef", LinkDirection.Action.end),
            (.swallow(2, after: 1), "adef", .end),
            (.swallow(99, after: 4), "abcd", .end),
            (.swallow(0), "abcdef", .end),
            (.duplicate(2, after: 1), "abcbcdef", .end),
            (.duplicate(99), "abcdef", .end),
            (.insert(Array("XY".utf8), after: 3), "abcXYdef", .end),
            (.insert(Array("XY".utf8), after: 6), "abcdefXY", .end),
            (.insert(Array("XY".utf8), after: 7), "abcdef", .end),
            (.stall(after: 2), "ab", .idle),
            (.end(after: 2), "ab", .end),
            (.close(after: 5), "abcde", .close(reset: false)),
            (.close(after: 0), "", .close(reset: false)),
            (.reset(after: 5), "abcde", .close(reset: true)),
            (.close(after: -1), "", .close(reset: false)),
            (.swallow(-1), "abcdef", .end),
        ]
    )
    func edit(_ edit: WireEdit, output: String, then: LinkDirection.Action) {
        // However the stream comes in, and in whatever pieces it leaves.
        for cut in 0...6 {
            for size in 1...6 {
                var direction = LinkDirection.faulty(.pieces(of: size...size), edit)
                let input = Array("abcdef".utf8)
                if cut > 0 { direction.receive(input[..<cut], at: start) }
                if cut < 6 { direction.receive(input[cut...], at: start) }
                direction.receiveEnd(at: start)
                let result = direction.drain(at: start)
                #expect(result.pieces.joined() == output, "cut at \(cut), pieces of \(size)")
                #expect(result.then == then, "cut at \(cut), pieces of \(size)")
            }
        }
    }

    @Test("An edit reaches bytes that were waiting")
    func waitingBytes() {
        var direction = LinkDirection.faulty(.delayed(by: .seconds(1)))
        direction.receive("abcdef", at: start)
        direction.add(.swallow(3))
        #expect(direction.drain(at: start + .seconds(1)).pieces == ["def"])
    }

    @Test("A reset travels behind what was sent before it")
    func reset() {
        var direction = LinkDirection.faulty(.delayed(by: .seconds(1)))
        direction.receive("ab", at: start)
        direction.receiveReset(at: start)
        #expect(direction.drain(at: start + .seconds(1)) == (["ab"], .close(reset: true)))
    }

    @Test("A half-close drops what waits, ends a frozen link too, and makes the rest vanish")
    func cut() {
        var direction = LinkDirection.faulty()
        direction.receive("ab", at: start)
        direction.change { $0.isStalled = true }
        direction.cut()
        #expect(direction.nextAction(at: start) == .end)
        #expect(direction.room > 0)
        direction.receive("cd", at: start)
        #expect(direction.nextAction(at: start) == .idle)
        #expect(direction.counts.swallowed == 4)
        direction.cut()
        #expect(direction.nextAction(at: start) == .idle)
    }

    @Test("Healing takes back everything and lets go what was held")
    func heal() {
        var direction = LinkDirection.faulty(.delayed(by: .seconds(3600)), .close(after: 1), .swallow(2))
        direction.receive("abc", at: start)
        direction.receiveEnd(at: start)
        direction.heal(at: start)
        #expect(direction.drain(at: start) == (["abc"], .end))
        #expect(direction.conditions == LinkConditions())
    }

    @Test("Numbers out of any reason do no harm")
    func hostileNumbers() {
        var conditions = LinkConditions()
        conditions.delay = .seconds(Int64.max)
        conditions.jitter = .seconds(-5)
        conditions.bytesPerSecond = 0
        conditions.pieceSize = -5...0
        conditions.pieceInterval = .seconds(Int64.max)
        conditions.bufferLimit = -1
        var direction = LinkDirection.faulty(
            conditions,
            .duplicate(.max, after: .max),
            .corrupt(byteAt: .max),
            .swallow(.max, after: 1)
        )
        direction.receive("abc", at: start)
        #expect(direction.nextAction(at: start) == .wait(until: start + .seconds(86_400)))
        #expect(direction.drain(at: start + .seconds(86_400)).pieces == ["a"])
        direction.change { $0.bytesPerSecond = .max }
        #expect(direction.drain(at: start + .seconds(200_000)).pieces == [])
        #expect(direction.counts.swallowed == 2)
    }

    @Test("Any number of edits at once does what a plain model says")
    func random() {
        let first = UInt64.random(in: 0 ... .max)
        for round: UInt64 in 0..<1000 {
            check(seed: first &+ round)
        }
    }

    private func check(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let input = (0..<Int.random(in: 1...40, using: &generator)).map { UInt8(truncatingIfNeeded: $0) }
        let edits = (0..<Int.random(in: 0...6, using: &generator))
            .map { _ -> WireEdit in
                let position = Int.random(in: 0...45, using: &generator)
                let count = Int.random(in: 0...8, using: &generator)
                return switch Int.random(in: 0..<9, using: &generator) {
                case 0, 1: .corrupt(byteAt: position, mask: UInt8(count))
                case 2, 3: .swallow(count, after: position)
                case 4, 5: .duplicate(count, after: position)
                case 6, 7: .insert([UInt8](repeating: 0xee, count: count), after: position)
                default: .close(after: position)
                }
            }
        var direction = LinkDirection(.pieces(of: 1...9), edits: edits, seed: seed)
        var rest = input[...]
        while !rest.isEmpty {
            let part = rest.prefix(Int.random(in: 1...12, using: &generator))
            direction.receive(part, at: start)
            rest = rest.dropFirst(part.count)
        }
        direction.receiveEnd(at: start)
        var output: [UInt8] = []
        while case .send(let bytes) = direction.nextAction(at: start) {
            let count = Int.random(in: 1...bytes.count, using: &generator)
            output += bytes.prefix(count)
            direction.sent(count, at: start)
        }
        #expect(output == Self.model(input, edits), "seed \(seed), edits \(edits)")
        #expect(direction.counts.delivered == output.count)
    }

    /// The stream as the documentation of the edits says it comes out, written without regard to cost.
    private static func model(_ input: [UInt8], _ edits: [WireEdit]) -> [UInt8] {
        var output: [UInt8] = []
        var copies: [Int: [UInt8]] = [:]
        for position in 0...input.count {
            for edit in edits where edit.position == position {
                switch edit.kind {
                case .insert(let bytes): output += bytes
                case .close: return output
                default: break
                }
            }
            guard position < input.count else { break }
            var byte = input[position]
            var isSwallowed = false
            for edit in edits {
                switch edit.kind {
                case .corrupt(let mask) where edit.position == position: byte ^= mask ?? 0
                case .swallow(let count) where (edit.position..<edit.position + count).contains(position):
                    isSwallowed = true
                default: break
                }
            }
            guard !isSwallowed else { continue }
            output.append(byte)
            for (index, edit) in edits.enumerated() {
                guard case .duplicate(let count) = edit.kind, position >= edit.position,
                    copies[index, default: []].count < count
                else { continue }
                copies[index, default: []].append(byte)
                if copies[index]?.count == count { output += copies[index] ?? [] }
            }
        }
        return output
    }
}
