import Strata
import Testing

/// Random operations beside a plain model, which hears of removals: what the level has must be what came and has not
/// left.
@Suite("A memory level beside a plain model")
struct MemoryModelTests {
    enum Kind: CaseIterable {
        case entries
        case cost
        case idle
    }

    @Test("Contents, counts and listeners agree at every step", arguments: Kind.allCases, [1, 3, 40, 300])
    func agrees(kind: Kind, limit: Int) async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of MemoryModelTests.agrees(\(kind), \(limit)): \(seed)")
        var random = TestRandom(seed: seed)
        let time = HandMovedTime()
        let log = RemovalLog<Int, Int>()
        let level = MemoryLevel<Int, Int>(
            limit: kind == .cost ? .cost(limit * 5) { $0 % 10 } : .entries(limit),
            idleLifetime: kind == .idle ? .seconds(30) : nil,
            seed: seed,
            time: time.clock,
            isTended: false,
            onRemoval: log.add
        )
        var model: [Int: (value: Int, end: MonotonicInstant)] = [:]
        var (insertions, refusals) = (0, 0)
        for step in 0..<2000 {
            let key = Int.random(in: 0..<max(2, limit * 2), using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                let value = Int.random(in: 0..<1000, using: &random)
                let end = time.now.advanced(by: .seconds(Int.random(in: 1...60, using: &random)))
                let entry = Entry(.value(value), freshUntil: end, tags: value % 3 == 0 ? ["tag"] : [])
                let before = model[key]?.value
                do {
                    try await level.store(entry, for: key)
                    insertions += 1
                    var removals = log.take()
                    // The old value of the key goes, and the new one may be what goes at once.
                    if let before, let place = removals.firstIndex(where: { $0.key == key && $0.value == before }) {
                        removals.remove(at: place)
                        model[key] = nil
                    }
                    model[key] = (value, end)
                    apply(removals, &model)
                } catch {
                    refusals += 1
                    #expect(kind == .cost && value % 10 > limit * 5)
                    apply(log.take(), &model)
                }
            case 45..<85:
                let found = try await level.value(key)
                apply(log.take(), &model)
                if let found { #expect(model[key]?.value == found, "step \(step)") }
                if kind != .idle, let known = model[key] {
                    #expect(found == (time.now < known.end ? known.value : nil), "step \(step)")
                }
            case 85..<90:
                try await level.remove(key)
                apply(log.take(), &model)
                #expect(model[key] == nil)
            case 90..<97: time.advance(by: .milliseconds(Int.random(in: 0...3000, using: &random)))
            case 97:
                _ = level.sweep(at: time.now)
                apply(log.take(), &model)
                #expect(model.values.allSatisfy { time.now < $0.end.advanced(by: .milliseconds(150)) })
            case 98: level.shed(0.2)
            default: if Int.random(in: 0..<10, using: &random) == 0 { try await level.removeAll() }
            }
            apply(log.take(), &model)
            let statistics = level.statistics
            #expect(statistics.entries == model.count, "step \(step)")
            #expect(statistics.weight <= level.limit.total)
            let left = RemovalCause.all.reduce(0) { $0 + statistics.count(of: $1) }
            #expect(statistics.insertions == insertions)
            // A removal on account of a refusal is of an entry that was inserted before.
            #expect(statistics.insertions == statistics.entries + left)
        }
        #expect(level.statistics.refusals == refusals)
        let contents = Dictionary(uniqueKeysWithValues: level.contents.map { ($0.key, $0.value) })
        #expect(contents == model.mapValues { $0.value })
    }

    private func apply(_ removals: [MemoryRemoval<Int, Int>], _ model: inout [Int: (value: Int, end: MonotonicInstant)])
    {
        for removal in removals {
            #expect(model[removal.key]?.value == removal.value)
            model[removal.key] = nil
        }
    }
}

extension RemovalCause {
    static let all: [RemovalCause] = [.size, .expired, .idle, .replaced, .removed, .cleared, .pressure]
}
