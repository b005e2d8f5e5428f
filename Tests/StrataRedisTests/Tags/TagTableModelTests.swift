import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// A server's numbers and the ways by which an instance learns of them, each in order and by itself, with any delay.
private struct TagWorld {
    var sequence: UInt64 = 10
    var clear: UInt64 = 10
    var numbers: [TagName: UInt64] = [:]
    /// On their way over the link.
    var events: [TagEvent] = []
    var question: TagTable.Look?
    /// On its way back.
    var answer: (TagTable.Look, TagMarks)?
    /// It forgets much.
    var table = TagTable(TagNumbers(generation: 2))
    /// What the instance itself has invalidated: that it knows whatever is delayed.
    var own: [TagName: UInt64] = [:]
    var ownClear: UInt64 = 0

    /// What has happened, for a failure's message.
    var story: [String] = []

    mutating func apply(_ effects: TagTable.Effects) {
        guard let look = effects.look else { return }
        #expect(question == nil && answer == nil, "two looks at once")
        question = look
    }

    /// The server runs the script for another instance, or for this one.
    mutating func invalidate(_ names: [TagName]?, jump: UInt64, byItself: Bool) {
        let before = sequence
        sequence += jump
        if let names { for name in names { numbers[name] = sequence } } else { clear = sequence }
        var event = TagEvent(Array("c1:2:".utf8))!
        (event.before, event.number, event.scope) = (before, sequence, names.map { .tags($0) } ?? .everything)
        events.append(event)
        guard byItself else { return }
        if let names { for name in names { own[name] = sequence } } else { ownClear = sequence }
        _ = table.took(TagMarks(sequence: sequence, clear: clear), for: names ?? [])
    }

    func isVoid(_ asOf: UInt64, _ tags: [TagName]) -> Bool {
        asOf < clear || tags.contains { numbers[$0] ?? 0 > asOf }
    }
}

@Suite("What an instance knows of tags, against a model")
struct TagTableModelTests {
    @Test("whatever is delayed: when all has been told, nothing void is valid, and nothing valid is void")
    func walk() {
        var random = SplitMix64.announced()
        let tags = (0..<6).map { TagName("\($0)") }
        for _ in 0..<400 {
            var world = TagWorld()
            world.apply(world.table.established())
            for _ in 0..<120 {
                let step = Int.random(in: 0..<12, using: &random)
                world.story.append("\(step) at \(world.sequence), answer \(world.answer.map { "\($0)" } ?? "none")")
                switch step {
                case 0, 1:
                    let names = tags.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
                    guard !names.isEmpty else { continue }
                    let jump = UInt64.random(in: 1...3, using: &random)
                    world.invalidate(names, jump: jump, byItself: Bool.random(using: &random))
                case 2 where Int.random(in: 0..<6, using: &random) == 0:
                    world.invalidate(nil, jump: 1, byItself: Bool.random(using: &random))
                case 3, 4, 5:
                    guard !world.events.isEmpty else { continue }
                    world.apply(world.table.heard(world.events.removeFirst()))
                case 6:
                    guard let question = world.question else { continue }
                    world.question = nil
                    world.answer = (question, TagMarks(sequence: world.sequence, clear: world.clear))
                case 7:
                    guard let (question, marks) = world.answer else { continue }
                    world.answer = nil
                    world.apply(world.table.looked(question, Int.random(in: 0..<10, using: &random) == 0 ? nil : marks))
                case 8: world.apply(world.table.hashChanged())
                case 9 where world.events.isEmpty: world.apply(world.table.pong(told: .now))
                case 10 where Int.random(in: 0..<10, using: &random) == 0:
                    world.table.lost()
                    world.events = []
                    world.apply(world.table.established())
                case 11:
                    // A look-up of all tags whose answer is there at once.
                    guard world.table.standing != nil else { continue }
                    let epoch = world.table.epoch
                    world.table.learnt(tags.map { ($0, world.numbers[$0] ?? 0) }, askedAt: epoch)
                default: continue
                }
                check(world, tags, &random)
            }
        }
    }

    private func check(_ world: TagWorld, _ tags: [TagName], _ random: inout SplitMix64) {
        let asOf = UInt64.random(in: 8...(world.sequence + 1), using: &random)
        let some = tags.filter { _ in Bool.random(using: &random) }
        let isVoid = world.isVoid(asOf, some) || asOf > world.sequence
        switch world.table.verdict(asOf: asOf, some) {
        case .void: #expect(isVoid)
        // What has not been told yet cannot be known.
        case .valid:
            #expect(!isVoid || !world.events.isEmpty)
            let knowsOwn = asOf >= world.ownClear && some.allSatisfy { world.own[$0] ?? 0 <= asOf }
            // What is made of the entry may bear such a number.
            if world.table.isComplete(upTo: world.table.highest) {
                let voids = max(world.clear, some.map { world.numbers[$0] ?? 0 }.max() ?? 0)
                #expect(voids <= asOf || voids > world.table.highest, "\(asOf) \(voids) \(world.table)")
            }
            #expect(knowsOwn, "\(asOf) \(world.own) \(world.table) \(world.story.suffix(25).joined(separator: "\n"))")
        case .asks, .unknown: break
        }
    }
}
