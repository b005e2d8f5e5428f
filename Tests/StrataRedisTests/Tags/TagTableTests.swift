import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What an instance knows of tags")
struct TagTableTests {
    private let red = TagName("red")
    private let green = TagName("green")

    /// A table that has been told where the server stands.
    private func table(sequence: UInt64 = 100, clear: UInt64 = 50) -> TagTable {
        var table = TagTable()
        let look = table.established().look
        _ = table.looked(look!, TagMarks(sequence: sequence, clear: clear))
        return table
    }

    /// The look by which a change of the hash is seen, at once or when the link answers.
    private func look(_ table: inout TagTable) -> TagTable.Look {
        table.hashChanged().look ?? table.pong(told: .now).look!
    }

    private func event(_ before: UInt64, _ number: UInt64, _ scope: TagEvent.Scope) -> TagEvent {
        var event = TagEvent(Array("c1:2:".utf8))!
        (event.before, event.number, event.scope) = (before, number, scope)
        return event
    }

    @Test("nothing is known before the link stands and the server has answered, and after the link is lost")
    func unknown() {
        var table = TagTable()
        #expect(table.verdict(asOf: 100, []) == .unknown)
        let effects = table.established()
        #expect(effects == .init(voidsEverything: true, look: .init(epoch: 1, known: 0)))
        #expect(table.verdict(asOf: 100, []) == .unknown)
        _ = table.looked(effects.look!, TagMarks(sequence: 100, clear: 50))
        #expect(table.verdict(asOf: 100, [red]) == .valid)
        table.lost()
        #expect(table.verdict(asOf: 100, [red]) == .unknown)
        #expect(table.highest == 100)
    }

    @Test("older than the clear mark is void, newer than the floor needs no look-up, in between tags are asked for")
    func verdicts() {
        var table = table()
        #expect(table.verdict(asOf: 49, []) == .void)
        #expect(table.verdict(asOf: 0, []) == .void)
        #expect(table.verdict(asOf: 50, []) == .valid)
        #expect(table.verdict(asOf: 99, [red]) == .asks([red]))
        #expect(table.verdict(asOf: 100, [red]) == .valid)
        #expect(table.verdict(asOf: 101, []) == .unknown)
        table.learnt([(red, 60), (green, 99)], askedAt: table.epoch)
        #expect(table.verdict(asOf: 60, [red]) == .valid)
        #expect(table.verdict(asOf: 59, [red]) == .void)
        #expect(table.verdict(asOf: 98, [red, green]) == .void)
        #expect(table.verdict(asOf: 99, [red, green]) == .valid)
    }

    @Test("what is told voids, and is known from then on")
    func told() {
        var table = table()
        #expect(table.heard(event(100, 110, .tags([red]))) == .init(voided: [red]))
        #expect(table.verdict(asOf: 105, [red]) == .void)
        #expect(table.verdict(asOf: 105, [green]) == .valid)
        #expect(table.verdict(asOf: 110, [red]) == .valid)
        #expect(table.heard(event(110, 120, .everything)) == .init(voidsEverything: true))
        #expect(table.verdict(asOf: 119, []) == .void)
        #expect(table.verdict(asOf: 120, [red]) == .valid)
        #expect(table.heard(event(120, 130, .unknownTags)) == .init(voidsEverything: true))
        #expect(table.verdict(asOf: 125, [green]) == .asks([green]))
        #expect(table.verdict(asOf: 130, [green]) == .valid)
    }

    @Test("an answer that was given before an invalidation does not undo it")
    func lateAnswer() {
        var table = table()
        let epoch = table.epoch
        _ = table.heard(event(100, 110, .tags([red])))
        table.learnt([(red, 60)], askedAt: epoch)
        #expect(table.verdict(asOf: 105, [red]) == .void)
        // Nor one to a question from before the table began anew.
        _ = table.begunAnew()
        table.learnt([(red, 60)], askedAt: epoch)
        #expect(table.count == 0)
    }

    @Test("a message that is missing voids everything and asks")
    func gap() {
        var table = table()
        let effects = table.heard(event(105, 110, .tags([red])))
        #expect(effects.voidsEverything && effects.look?.known == 110)
        #expect(table.standing == nil)
        _ = table.looked(effects.look!, TagMarks(sequence: 110, clear: 50))
        #expect(table.standing?.floor == 110)
    }

    @Test("a look that fails is made again, also when the table has begun anew meanwhile")
    func failedLook() {
        var table = table()
        let look = look(&table)
        _ = table.heard(event(100, 110, .unknownTags))
        _ = table.looked(look, nil)
        #expect(table.verdict(asOf: 110, [red]) == .unknown)
        #expect(table.pong(told: .now).look != nil)
    }

    @Test("a number that is years ahead is not believed: the server is asked")
    func forged() {
        var table = table()
        let effects = table.heard(event(100, 101 + TagTable.longestStep, .everything))
        #expect(effects.voidsEverything && effects.look?.known == 100)
        #expect(table.highest == 100)
    }

    @Test("a number that the server does not believe is forgotten, by whichever answer that shows")
    func refuted() {
        let absurd = TagTable.longestStep + 50
        for way in 0..<4 {
            var table = table()
            #expect(table.heard(event(100, absurd, .everything)).voidsEverything)
            #expect(table.highest == absurd)
            let answer = TagMarks(sequence: 130, clear: 130)
            let effects =
                switch way {
                case 0: table.looked(look(&table), answer)
                case 1: table.took(answer, for: [red], known: absurd)
                case 2: table.learnt(answer, known: absurd)
                default: table.glimpsed(answer, known: absurd)
                }
            #expect(effects.voidsEverything && effects.voided == (way == 1 ? [red] : []))
            #expect(table.highest == 130)
            #expect(effects.look?.known == 130)
            _ = table.looked(effects.look!, answer)
            #expect(table.verdict(asOf: 130, [red]) == .valid)
            // Clears below it count again.
            #expect(table.heard(event(130, 140, .everything)).voidsEverything)
            #expect(table.verdict(asOf: 139, []) == .void)
        }
        // An answer to a question from before is not held against what was learnt since.
        var table = table()
        #expect(table.took(TagMarks(sequence: 120, clear: 50), for: [red], known: 100) == .init(voided: [red]))
        #expect(table.learnt(TagMarks(sequence: 110, clear: 50)) == .init())
        #expect(table.highest == 120)
    }

    @Test("what is glimpsed changes nothing, unless it is news: then it is looked at")
    func glimpsed() {
        var table = table()
        #expect(table.glimpsed(TagMarks(sequence: 100, clear: 50), known: 100) == .init())
        #expect(table.verdict(asOf: 100, [red]) == .valid)
        #expect(table.glimpsed(TagMarks(sequence: 110, clear: 50), known: 100).look != nil)
        #expect(table.verdict(asOf: 100, [red]) == .valid)
        var other = self.table()
        #expect(other.glimpsed(TagMarks(sequence: 100, clear: 100), known: 100).look != nil)
    }

    @Test("answers to this instance's own invalidations may overtake what is told: no gap, and nothing old is valid")
    func overtaking() {
        var table = table()
        _ = table.took(TagMarks(sequence: 120, clear: 50), for: [red])
        #expect(table.verdict(asOf: 119, [red]) == .void)
        #expect(table.heard(event(100, 110, .tags([green]))) == .init(voided: [green]))
        #expect(table.heard(event(110, 120, .tags([red]))) == .init(voided: [red]))
        #expect(table.standing?.told == 120)
    }

    @Test("the first look overtakes the link: what that told before is asked for again, and so is an answer on its way")
    func firstLookOvertakes() {
        var table = TagTable()
        let look = table.established().look!
        #expect(table.heard(event(30, 40, .tags([red]))) == .init(voided: [red]))
        let epoch = table.epoch
        // The server has gone on to 48, for the same tag, and the link has not told of that.
        _ = table.looked(look, TagMarks(sequence: 48, clear: 10))
        #expect(table.verdict(asOf: 45, [red]) == .asks([red]))
        table.learnt([(red, 40)], askedAt: epoch)
        #expect(table.verdict(asOf: 45, [red]) == .asks([red]))
        // A later step of the tag may have been forgotten, so this one says nothing of it.
        #expect(table.heard(event(40, 48, .tags([red]))) == .init(voided: [red]))
        #expect(table.verdict(asOf: 45, [red]) == .asks([red]))
        #expect(table.verdict(asOf: 48, [red]) == .valid)
    }

    @Test("an own invalidation while the first look is out holds, also when the look was answered before it")
    func ownDuringLook() {
        var table = TagTable()
        let look = table.established().look!
        _ = table.took(TagMarks(sequence: 120, clear: 50), for: [red])
        _ = table.looked(look, TagMarks(sequence: 100, clear: 50))
        #expect(table.verdict(asOf: 100, [red]) != .valid)
        table.lost()
        let next = table.established().look!
        #expect(next.known == 120)
        _ = table.took(TagMarks(sequence: 130, clear: 130), for: [])
        _ = table.looked(next, TagMarks(sequence: 120, clear: 50))
        #expect(table.verdict(asOf: 120, []) == .void)
    }

    @Test("what was told while the look was out counts, tags that were too many to be told too")
    func toldDuringLook() {
        var table = TagTable()
        let look = table.established().look!
        _ = table.heard(event(100, 110, .tags([red])))
        _ = table.looked(look, TagMarks(sequence: 100, clear: 50))
        #expect(table.verdict(asOf: 105, [red]) == .void)
        #expect(table.standing?.told == 110)
        var other = TagTable()
        let first = other.established().look!
        let effects = other.heard(event(100, 110, .unknownTags))
        #expect(effects.voidsEverything)
        let again = other.looked(first, TagMarks(sequence: 100, clear: 50)).look!
        _ = other.looked(again, TagMarks(sequence: 110, clear: 50))
        #expect(other.verdict(asOf: 105, [green]) == .asks([green]))
    }

    @Test("a look that finds more than was told asks for tags at once, and voids everything when it is never told")
    func owed() {
        var table = table()
        let look = table.hashChanged().look!
        let known = MonotonicInstant.now
        #expect(table.looked(look, TagMarks(sequence: 140, clear: 50), at: known) == .init())
        #expect(table.verdict(asOf: 105, [red]) == .asks([red]))
        // However often the link answers, or that of another node of the part: it has not told yet of what was changed
        // then.
        for _ in 0..<5 { #expect(table.pong(told: known.advanced(byNanoseconds: -1)) == .init()) }
        let late = table.pong(told: known)
        #expect(late.voidsEverything && late.look != nil)
        // Told in time, nothing happens.
        var other = self.table()
        _ = other.looked(other.hashChanged().look!, TagMarks(sequence: 140, clear: 50))
        _ = other.heard(event(100, 140, .tags([red])))
        for _ in 0..<5 { #expect(other.pong(told: .distantFuture) == .init()) }
    }

    @Test("a table that begins anew does not forget what this instance has invalidated")
    func ownSurvives() {
        var table = table()
        let look = table.hashChanged().look!
        _ = table.took(TagMarks(sequence: 125, clear: 50), for: [red])
        // Answered before that.
        _ = table.looked(look, TagMarks(sequence: 120, clear: 50))
        #expect(table.verdict(asOf: 122, [red]) == .void)
        // Told late, and older than that.
        _ = table.heard(event(100, 110, .tags([red])))
        #expect(table.verdict(asOf: 122, [red]) == .void)
    }

    @Test("a look that finds another clear mark voids everything")
    func cleared() {
        var table = table()
        let effects = table.looked(table.hashChanged().look!, TagMarks(sequence: 200, clear: 200))
        #expect(effects.voidsEverything)
        #expect(table.verdict(asOf: 199, []) == .void)
    }

    @Test("a clear that is learnt of twice empties memory once")
    func twice() {
        var table = table()
        #expect(table.took(TagMarks(sequence: 110, clear: 110), for: []).voidsEverything)
        #expect(table.heard(event(100, 110, .everything)) == .init())
        #expect(table.looked(look(&table), TagMarks(sequence: 110, clear: 110)) == .init())
        #expect(table.heard(event(110, 120, .everything)).voidsEverything)
        // An invalidation by which the server has found that numbers were lost.
        #expect(
            table.took(TagMarks(sequence: 130, clear: 130), for: [red]) == .init(voidsEverything: true, voided: [red])
        )
    }

    @Test("one look at a time; changes meanwhile cause one more; one that fails is repeated")
    func looks() {
        var table = table()
        let look = table.hashChanged().look!
        #expect(table.hashChanged() == .init())
        #expect(table.hashChanged() == .init())
        let next = table.looked(look, TagMarks(sequence: 100, clear: 50)).look!
        #expect(table.looked(next, nil) == .init())
        #expect(table.verdict(asOf: 100, []) == .unknown)
        #expect(table.pong(told: .distantPast).look != nil)
        #expect(table.pong(told: .distantPast) == .init())
    }

    @Test("the report of a step that was told is looked at when the link answers, once for all; one by itself at once")
    func reports() {
        var table = table()
        for number in 0..<5 as Range<UInt64> {
            _ = table.heard(event(100 + number, 101 + number, .tags([red])))
            #expect(table.hashChanged() == .init())
        }
        // By hand, after them.
        #expect(table.hashChanged().look?.known == 105)
        _ = table.looked(.init(epoch: table.epoch, known: 105), TagMarks(sequence: 105, clear: 50))
        let look = table.pong(told: .now).look
        #expect(look?.known == 105)
        #expect(table.looked(look!, TagMarks(sequence: 105, clear: 50)) == .init())
        #expect(table.pong(told: .now) == .init())
        // A server that knows of no steps has lost them.
        _ = table.heard(event(105, 106, .tags([red])))
        #expect(table.hashChanged() == .init())
        let next = table.pong(told: .now).look!
        #expect(table.looked(next, TagMarks(sequence: 3, clear: 3)).voidsEverything)
    }

    @Test("a look that overtakes what is told forgets no number")
    func overtakenByLook() {
        var table = table()
        _ = table.heard(event(100, 110, .tags([green])))
        table.learnt([(red, 60)], askedAt: table.epoch)
        _ = table.looked(look(&table), TagMarks(sequence: 120, clear: 50))
        // Which tags the last step voids is not known yet.
        #expect(table.verdict(asOf: 70, [red]) == .asks([red]))
        #expect(table.verdict(asOf: 105, [green]) == .void)
        #expect(table.verdict(asOf: 120, [red]) == .valid)
        _ = table.heard(event(110, 120, .tags([green])))
        #expect(table.verdict(asOf: 70, [red]) == .valid)
        #expect(table.verdict(asOf: 115, [green]) == .void)
    }

    @Test("a full table forgets the older half, and errs on no side")
    func full() {
        var table = TagTable(TagNumbers(generation: 100))
        _ = table.looked(table.established().look!, TagMarks(sequence: 100, clear: 50))
        for number in 0..<UInt64(250) {
            _ = table.heard(event(100 + number, 101 + number, .tags([TagName("\(number)")])))
            #expect(table.count <= 200)
        }
        // Among the first, and forgotten; what is as old as they need not be asked for from then on.
        #expect(table.standing?.floor == 200)
        #expect(table.verdict(asOf: 100, [TagName("0")]) == .asks([TagName("0")]))
        #expect(table.verdict(asOf: 200, [TagName("0")]) == .valid)
        #expect(table.verdict(asOf: 200, [TagName("100")]) == .void)
        #expect(table.verdict(asOf: 100, [TagName("249")]) == .void)
    }

    @Test("an answer from before something was forgotten is not believed")
    func lateAnswerAfterFull() {
        var table = TagTable(TagNumbers(generation: 2))
        _ = table.looked(table.established().look!, TagMarks(sequence: 100, clear: 50))
        let epoch = table.epoch
        for number in 0..<UInt64(5) {
            _ = table.heard(event(100 + number, 101 + number, .tags([TagName("\(number)")])))
        }
        table.learnt([(TagName("0"), 60)], askedAt: epoch)
        #expect(table.verdict(asOf: 100, [TagName("0")]) == .asks([TagName("0")]))
        // Of one answer, too.
        table.learnt((10..<16).map { (TagName("\($0)"), 60) } + [(TagName("4"), 60)], askedAt: table.epoch)
        #expect(table.verdict(asOf: 104, [TagName("4")]) != .valid)
    }
}
