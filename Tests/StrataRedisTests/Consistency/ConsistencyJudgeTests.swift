import Strata
import Testing

@testable import StrataRedis

@Suite("What a monitor takes for an inconsistency")
struct ConsistencyJudgeTests {
    private let keyspace: Keyspace = "things"
    private let older = EntryVersion(high: 1, low: 1)
    private let newer = EntryVersion(high: 2, low: 2)
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func after(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }

    /// A change heard of at 10 s, and made after 9 s; the answer comes at 11 s.
    private func judge(_ look: KeyLook, seen versions: [EntryVersion] = [], told: Int? = 9000) -> ConsistencyJudge {
        let check = ConsistencySchedule.Check(
            key: InspectedKey("a".keyBytes, in: keyspace),
            delay: 0,
            heard: after(10_000),
            told: told.map { after($0) } ?? .distantPast,
            due: after(11_000)
        )
        return ConsistencyJudge(check: check, look: look, versions: versions, answered: after(11_000))
    }

    private func found(
        _ state: String = "fresh",
        _ version: String? = nil,
        age: Int? = nil,
        timed: Bool? = nil,
        heard: [Int]? = nil
    ) -> VersionAnswer.Key {
        .init(state: state, version: version, age: age, timed: timed, heard: heard)
    }

    private func answer(told: Bool = true, link: String? = nil, listening: Int? = nil) -> VersionAnswer {
        var trail = ChangeTrail(at: start)
        if let listening { trail.note(.listening, at: after(11_000 - listening)) }
        return VersionAnswer([], trail, isTold: told, link: link, at: after(11_000))
    }

    private let olderText = "00000000000000010000000000000001"
    private let newerText = "00000000000000020000000000000002"

    @Test("what was checked long ago is not among what is counted now")
    func buckets() {
        var report = ConsistencyReport(delays: [.seconds(1)], bucketLength: .seconds(60))
        let counts = ConsistencyReport.Counts()
        for minute in [0, 1, 59, 60, 500] { report.add(counts, delay: 0, at: .seconds(60 * minute + 1)) }
        func starts(_ minute: Int) -> [Duration] { report.buckets(at: .seconds(60 * minute + 30)).map(\.start) }
        #expect(starts(60).map { $0 / .seconds(60) } == [1, 59, 60, 500])
        #expect(starts(500) == [.seconds(30_000)] && starts(560) == [])
    }

    @Test("what memory does not serve, or serves marked, is none, whatever Redis holds")
    func unserved() {
        let judge = judge(KeyLook(held: .entry(newer)), seen: [older])
        for state in ["absent", "expired", "voidByTag", "voidByChange"] {
            #expect(judge.verdict(on: found(state, olderText, age: 9_999_999), in: answer()) == .consistent)
        }
        #expect(judge.verdict(on: found("suspect", olderText, age: 9_999_999), in: answer()) == .suspect)
        #expect(judge.verdict(on: found("fresh", olderText, age: 9_999_999, timed: true), in: answer()) == .suspect)
        #expect(judge.verdict(on: found("stale", olderText, age: 9_999_999), in: answer()) == .stale)
        #expect(judge.verdict(on: found("unknown"), in: answer()) == .unknown)
        #expect(judge.verdict(on: found("of a later release"), in: answer()) == .unknown)
        #expect(judge.verdict(on: found("fresh", "no stamp", age: 9_999_999), in: answer()) == .unknown)
    }

    @Test("the stamp that Redis holds is true, however old, unless a tag or a clear has voided it")
    func same() {
        let fresh = found("fresh", newerText, age: 9_999_999, heard: [])
        #expect(judge(KeyLook(held: .entry(newer)), seen: [newer]).verdict(on: fresh, in: answer()) == .consistent)
        let void = judge(KeyLook(held: .entry(newer), isVoid: true))
        #expect(void.verdict(on: fresh, in: answer()) == .inconsistent(.void, .neverHeard))
    }

    @Test("a stamp that Redis held before is superseded; one that it was not seen to hold proves nothing")
    func superseded() {
        for held: (KeyLook.Held, Inconsistency.Stored) in [
            (.entry(newer), .entry(newer)), (.nothing, .nothing), (.other, .other),
        ] {
            let fresh = found("fresh", olderText, age: 0, heard: [])
            let seen = judge(KeyLook(held: held.0), seen: [older])
            #expect(seen.verdict(on: fresh, in: answer()) == .inconsistent(held.1, .neverHeard))
            #expect(judge(KeyLook(held: held.0)).verdict(on: fresh, in: answer()) == .undecided)
            #expect(judge(KeyLook(held: held.0)).verdict(on: found(age: 0), in: answer()) == .undecided)
        }
    }

    @Test("an entry from before the change is one; an entry that may be from after it proves nothing")
    func age() {
        let judge = judge(KeyLook(held: .nothing))
        // In memory before 9 s, by a margin for clocks.
        for (age, isOlder) in [(2100, true), (2020, false), (1900, false), (0, false), (-5, false), (.max, false)] {
            let verdict = judge.verdict(on: found(age: age, heard: []), in: answer())
            #expect(verdict == (isOlder ? .inconsistent(.nothing, .neverHeard) : .undecided), "\(age)")
        }
        let unknown = self.judge(KeyLook(held: .nothing), told: nil)
        #expect(unknown.verdict(on: found(age: 1_000_000), in: answer()) == .undecided)
    }

    @Test("the cause is what the instance's trail says")
    func causes() {
        let judge = judge(KeyLook(held: .nothing))
        func cause(_ heard: [Int]?, _ answer: VersionAnswer) -> Inconsistency.Cause? {
            guard case .inconsistent(_, let cause) = judge.verdict(on: found(age: 5000, heard: heard), in: answer)
            else {
                return nil
            }
            return cause
        }
        #expect(cause([], answer()) == .neverHeard)
        #expect(cause([1000], answer()) == .heardAndKept)
        #expect(cause([9000], answer()) == .neverHeard)
        #expect(cause([], answer(told: false)) == .notListening)
        #expect(cause([], answer(link: "refused")) == .linkLost)
        #expect(cause([], answer(listening: 500)) == .missedInGap)
        #expect(cause([], answer(listening: 10_000)) == .neverHeard)
        var short = answer()
        short.reach = 500
        #expect(cause([], short) == .unknown)
    }
}

@Suite("What a monitor looks at, and when")
struct ConsistencyScheduleTests {
    private let keyspace: Keyspace = "things"
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func key(_ number: Int) -> InspectedKey { InspectedKey("key-\(number)".keyBytes, in: keyspace) }

    @Test("a change is due after each delay, once for each key, and what comes too late is given up")
    func due() {
        var schedule = ConsistencySchedule(delays: [.milliseconds(100), .seconds(10)], rate: 60)
        #expect(schedule.next == .distantFuture)
        schedule.trusted(nil, told: start)
        let heard = start.advanced(by: .seconds(1))
        for _ in 0..<3 { schedule.changed(key(1).name, nil, at: heard) { key(1) } }
        #expect(schedule.due(at: heard).isEmpty && schedule.next == heard.advanced(by: .milliseconds(100)))
        let first = schedule.due(at: heard.advanced(by: .milliseconds(100)))
        #expect(first.map(\.key) == [key(1)] && first[0].told == start && first[0].heard == heard)
        let second = schedule.due(at: heard.advanced(by: .seconds(15)))
        #expect(second.map(\.delay) == [1] && schedule.next == .distantFuture && schedule.abandoned == 0)
        schedule.changed(key(1).name, nil, at: heard) { key(1) }
        #expect(schedule.due(at: heard.advanced(by: .milliseconds(1101))).isEmpty && schedule.abandoned == 1)
    }

    @Test("what is followed in a second, what waits and what is remembered have limits")
    func limits() {
        var schedule = ConsistencySchedule(delays: [.seconds(1)], rate: 10)
        for number in 0..<1000 { schedule.changed(key(number).name, nil, at: start) { key(number) } }
        #expect(schedule.changes == 1000 && schedule.leftOut == 990)
        schedule.changed(key(2000).name, nil, at: start.advanced(by: .seconds(1))) { key(2000) }
        #expect(schedule.leftOut == 990)
        let long = InspectedKey([UInt8](repeating: 97, count: 513), in: keyspace)
        schedule.changed(long.name, nil, at: start.advanced(by: .seconds(2))) { long }
        #expect(schedule.leftOut == 991)
        #expect(schedule.due(at: start.advanced(by: .seconds(2))).count == 11)
        for number in 0..<(ConsistencySchedule.mostKeys + 10) {
            schedule.saw(KeyLook(held: .entry(EntryVersion(high: 1, low: 1))), of: key(number))
        }
        #expect(schedule.versions(of: key(9)).isEmpty && schedule.versions(of: key(10)).count == 1)
        for low in UInt64(0)..<100 { schedule.saw(KeyLook(held: .entry(EntryVersion(high: 1, low: low))), of: key(50)) }
        #expect(schedule.versions(of: key(50)).count == ConsistencySchedule.mostVersions)
    }

    @Test("a tag and a clear make those keys due that bear it, and a lost link forgets all")
    func invalidations() {
        var schedule = ConsistencySchedule(delays: [.seconds(1)], rate: 60)
        schedule.trusted(nil, told: start)
        let red = [TagName("red")]
        schedule.saw(KeyLook(held: .entry(EntryVersion(high: 1, low: 1)), tags: red), of: key(1))
        schedule.saw(KeyLook(held: .entry(EntryVersion(high: 1, low: 2))), of: key(2))
        schedule.invalidated(red, at: start)
        let due = schedule.due(at: start.advanced(by: .seconds(1)))
        #expect(due.map(\.key) == [key(1)] && due[0].told == .distantPast)
        schedule.cleared(nil, at: start)
        #expect(Set(schedule.due(at: start.advanced(by: .seconds(1))).map(\.key)) == [key(1), key(2)])
        schedule.changed(key(1).name, nil, at: start) { key(1) }
        schedule.lost()
        #expect(schedule.next == .distantFuture && schedule.versions(of: key(1)).isEmpty && schedule.abandoned == 1)
        schedule.changed(key(1).name, nil, at: start) { key(1) }
        #expect(schedule.due(at: start.advanced(by: .seconds(1))).first?.told == .distantPast)
    }

    @Test("a change that is told twice counts once, and costs one of the rate's")
    func toldTwice() {
        var schedule = ConsistencySchedule(delays: [.milliseconds(100), .seconds(10)], rate: 10)
        for number in 0..<10 {
            for _ in 0..<3 { schedule.changed(key(number).name, nil, at: start) { key(number) } }
        }
        #expect(schedule.changes == 10 && schedule.leftOut == 0)
        #expect(schedule.due(at: start.advanced(by: .milliseconds(100))).count == 10)
    }

    @Test("in a cluster a tag's invalidation counts once, and each part's makes its own keys due")
    func parts() {
        var schedule = ConsistencySchedule(delays: [.seconds(1)], rate: 60)
        let red = [TagName("red")]
        let keys = (0..<20).map { InspectedKey("key-\($0)".keyBytes, in: keyspace) }
        for (number, key) in keys.enumerated() {
            let version = EntryVersion(high: 1, low: UInt64(number))
            schedule.saw(KeyLook(held: .entry(version), tags: red), of: key)
        }
        for part in KeyspacePart.all { schedule.invalidated(red, part, at: start) }
        #expect(schedule.changes == 1 && schedule.leftOut == 0)
        #expect(Set(schedule.due(at: start.advanced(by: .seconds(1))).map(\.key)) == Set(keys))
        // A copy of a message over another node's link says nothing of when the change was made.
        let part = KeyspacePart(ofName: keys[0].name.bytes)
        schedule.trusted(part, told: start)
        schedule.changed(keys[0].name, part, isFirst: false, at: start) { keys[0] }
        #expect(schedule.due(at: start.advanced(by: .seconds(1))).first?.told == .distantPast)
    }

    @Test("a message is news once in its window, and what was forgotten too early is known to be")
    func copies() {
        var recent = RecentMessages(within: .seconds(60), upTo: 4)
        func isNews(_ byte: UInt8, _ part: KeyspacePart? = nil, after seconds: Int) -> Bool {
            recent.isNews([byte], part, at: start.advanced(by: .seconds(seconds)))
        }
        let first = [
            isNews(1, after: 0), isNews(1, after: 0), isNews(1, KeyspacePart.all[1], after: 0), isNews(1, after: 61),
        ]
        #expect(first == [true, false, true, true])
        #expect(recent.remembersAll(at: start))
        let others = (UInt8(2)..<8).map { isNews($0, after: 62) }
        #expect(others.allSatisfy { $0 })
        #expect(!recent.remembersAll(at: start.advanced(by: .seconds(63))))
        #expect(recent.remembersAll(at: start.advanced(by: .seconds(200))))
    }

    @Test("a message without a number is heard anew after a pause, and then not known to be the first")
    func repeated() {
        var recent = RecentMessages(within: .seconds(60), upTo: 16)
        func hear(after seconds: Int) -> [Bool] {
            let now = start.advanced(by: .seconds(seconds))
            let (isNews, isFirst) = recent.hear([1], nil, at: now, unlessRepeatedAfter: .seconds(2))
            return [isNews, isFirst]
        }
        #expect([hear(after: 0), hear(after: 1), hear(after: 3)] == [[true, true], [false, false], [true, false]])
        #expect(hear(after: 64) == [true, true])
    }
}

@Suite("The figures of a monitor, and its questions")
struct ConsistencyReportTests {
    @Test("nines are those of the checks with a result; without an inconsistency, what so many show")
    func nines() throws {
        var counts = ConsistencyReport.Counts()
        counts.silent = 5
        #expect(counts.nines == nil)
        counts.consistent = 1000
        #expect(abs(try #require(counts.nines) - 3) < 1e-5)
        (counts.consistent, counts.inconsistent) = (99_995, 5)
        #expect(abs(try #require(counts.nines) - 4.30103) < 1e-5)
        (counts.consistent, counts.inconsistent) = (0, 1)
        #expect(counts.nines == 0)
        (counts.consistent, counts.inconsistent) = (1, 2)
        #expect(abs(try #require(counts.nines) - 0.176091) < 1e-5)
    }

    @Test("buckets are by time, the last 60 of them")
    func buckets() {
        var report = ConsistencyReport(delays: [.seconds(1), .seconds(3)], bucketLength: .seconds(60))
        var one = ConsistencyReport.Counts()
        one.consistent = 1
        report.add(one, delay: 1, at: .seconds(59))
        report.add(one, delay: 1, at: .seconds(60))
        report.add(one, delay: 0, at: .seconds(119))
        #expect(report.buckets.map(\.start) == [.zero, .seconds(60)] && report.total.map(\.consistent) == [1, 2])
        #expect(report.buckets[1].counts.map(\.consistent) == [1, 1])
        for minute in 2..<100 { report.add(one, delay: 0, at: .seconds(60 * minute)) }
        #expect(report.buckets.count == 60 && report.buckets[59].start == .seconds(99 * 60))
    }

    @Test("a question comes back as it was; other bytes, too many keys and long ones are none")
    func questions() {
        let keys = (0..<32)
            .map {
                VersionQuestion([UInt8](repeating: UInt8($0), count: $0 * 16), EntryVersion(high: 7, low: UInt64($0)))
            }
        let number = QuestionNumber()
        let message = FleetQuestion.versions(keys).message(number)
        #expect(FleetQuestion.read(message)?.question == .versions(keys))
        for length in 18..<message.count {
            guard let read = FleetQuestion.read(Array(message.prefix(length))) else { continue }
            // Cut between two keys.
            guard case .versions(let part) = read.question else {
                Issue.record("another question, of \(length) bytes")
                continue
            }
            #expect(part == Array(keys.prefix(part.count)))
        }
        let one = VersionQuestion([1], .none)
        #expect(FleetQuestion.read(FleetQuestion.versions([]).message(number)) == nil)
        #expect(FleetQuestion.read(FleetQuestion.versions(Array(repeating: one, count: 33)).message(number)) == nil)
        let long = VersionQuestion([UInt8](repeating: 1, count: 513), .none)
        #expect(FleetQuestion.read(FleetQuestion.versions([long]).message(number)) == nil)
        #expect(VersionAnswer([1, 2, 3], to: [one]) == nil)
        let answer = VersionAnswer([.init(state: "fresh")], ChangeTrail(at: .now), isTold: true, link: nil, at: .now)
        #expect(VersionAnswer(answer.bytes, to: [one]) == answer && VersionAnswer(answer.bytes, to: [one, one]) == nil)
    }

    @Test("the trail has the last changes of a key, and tells how far back it reaches")
    func trail() {
        let start = MonotonicInstant(nanoseconds: 1_000_000_000)
        func at(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }
        var trail = ChangeTrail(at: start)
        for number in 1...6 { trail.note(.changed("a"), at: at(number)) }
        #expect(trail.changes(of: "a", at: at(10)) == [4, 5, 6, 7] && trail.changes(of: "b", at: at(10)).isEmpty)
        #expect(trail.begin == start)
        for number in 0..<ChangeTrail.capacity { trail.note(.changed(RedisKey("k\(number)")), at: at(100 + number)) }
        #expect(trail.changes(of: "a", at: at(5000)).isEmpty && trail.begin == at(6))
        trail.note(.tagsChanged, at: at(7))
        trail.note(.untrusted, at: at(8))
        #expect(trail.tags == at(7) && trail.untrusted == at(8) && trail.listening == nil)
    }
}
