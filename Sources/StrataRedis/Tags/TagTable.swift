internal import Strata

/// The invalidations of a keyspace that an instance knows without asking Redis.
///
/// While the link stands the table has the sequence, the clear mark and, for every tag, either its number or the fact
/// that it is not above ``Standing/floor``: the link reports every invalidation since. So an entry whose fetch began at
/// the floor or later needs no look-up, and an older one only for the tags that are not in the table. When tags are
/// forgotten to make room the floor rises to the highest of their numbers.
///
/// A value without I/O: events in, effects out.
struct TagTable: Sendable {
    /// What is known while the link reports every step.
    struct Standing: Sendable, Hashable {
        var marks: TagMarks
        /// A tag that is not in the table has no higher number than this.
        var floor: InvalidationNumber
        /// The last number that came over the link.
        ///
        /// Other numbers come from answers, which may overtake the link.
        var told: InvalidationNumber
    }

    /// The effects of an event, carried out in this order after the table has changed.
    struct Effects: Sendable, Equatable {
        var voidsEverything = false
        var voided: [TagName] = []
        /// A question for the marks; the answer goes to ``TagTable/looked(_:_:)`` with it.
        var look: Look?
    }

    /// A question for the marks.
    struct Look: Sendable, Equatable {
        var epoch: UInt64
        /// The highest number that this instance knows: a server that knows only lower ones has lost data.
        var known: InvalidationNumber
        /// Whether marks that are whole are only read: no script, for which a server that is paused for writes keeps
        /// the reads behind it waiting.
        var isGlimpse = false
    }

    enum Verdict: Sendable, Hashable {
        case valid
        case void
        /// The numbers of these tags must be read from Redis.
        case asks([TagName])
        /// Marks and numbers must be read from Redis.
        case unknown
    }

    /// The table does not believe a number that is further ahead than this: a year in microseconds.
    ///
    /// It may be right, when nothing was invalidated for a year; the server knows. But a user who may publish must not
    /// be able to use up all numbers.
    static let longestStep: InvalidationNumber = 366 * 86_400 * 1_000_000

    /// The highest number from any origin that was not refuted.
    private(set) var highest: InvalidationNumber = 0
    /// `nil` while the link is down, or the first answer has not come.
    private(set) var standing: Standing?
    private var numbers: TagNumbers
    /// Changes when the table begins anew: it ignores answers to earlier questions.
    private(set) var epoch: UInt64 = 0
    private(set) var isListening = false
    private var isLooking = false
    private var looksAgain = false
    /// Whether a step was told whose change of the hash is still to be reported.
    private var awaitsReport = false
    /// Whether the marks are to be looked at when the link answers the next time.
    private var looksAtPong = false
    /// A number from an answer that the link must still report, and when it was known.
    private var owed: (number: InvalidationNumber, since: MonotonicInstant)?
    /// What the link reported before the first answer.
    private var told: InvalidationNumber = 0
    private var toldClear: InvalidationNumber = 0
    private var toldFloor: InvalidationNumber = 0
    /// The last clear for which memory was emptied: the table may learn of it in two ways.
    private var appliedClear: InvalidationNumber = 0

    init(_ numbers: TagNumbers = TagNumbers()) {
        self.numbers = numbers
    }

    var count: Int { numbers.count }

    // MARK: The link

    /// The link stands and reports every step from now on.
    mutating func established() -> Effects {
        isListening = true
        return begunAnew()
    }

    /// The link is lost.
    mutating func lost() {
        isListening = false
        forget()
    }

    /// The database was flushed, or the link reported nonsense.
    mutating func begunAnew() -> Effects {
        forget()
        return Effects(voidsEverything: true, look: look())
    }

    /// The hash has changed: by a step that the link reports, too, or in another way.
    ///
    /// Every instance hears of every step. If each asked each time, the server would answer more questions than it has
    /// invalidations. So a report that comes with a step that was told without a gap is believed to be that step's,
    /// until the link answers: one look then is for all of them. A report by itself is looked at at once.
    mutating func hashChanged() -> Effects {
        guard isListening else { return Effects() }
        if awaitsReport && standing != nil {
            awaitsReport = false
            looksAtPong = true
            return Effects()
        }
        if isLooking {
            looksAgain = true
            return Effects()
        }
        return Effects(look: look())
    }

    /// Everything has arrived that was changed before an instant.
    ///
    /// - Parameter told: The instant; of a part it is the earliest of its nodes', so another node's PONG proves nothing
    ///   of the one that has the marks.
    /// - Returns: The effects.
    mutating func pong(told: MonotonicInstant) -> Effects {
        guard isListening else { return Effects() }
        if standing == nil, !isLooking { return Effects(look: look()) }
        if let due = owed {
            if let standing, standing.told >= due.number {
                owed = nil
            } else if told >= due.since {
                // The link should have reported the number by then: the hash was changed by hand.
                return begunAnew()
            }
        }
        guard looksAtPong else { return Effects() }
        looksAtPong = false
        return Effects(look: look())
    }

    /// Another instance has taken a number, or this one.
    mutating func heard(_ event: TagEvent) -> Effects {
        guard isListening else { return Effects() }
        guard highest == 0 || event.number <= highest + Self.longestStep else { return begunAnew() }
        highest = max(highest, event.number)
        if let known = standing, event.before > known.told { return begunAnew() }
        var effects = Effects()
        told = max(told, event.number)
        standing?.told = told
        awaitsReport = true
        if let sequence = standing?.marks.sequence { standing?.marks.sequence = max(sequence, event.number) }
        switch event.scope {
        case .everything:
            toldClear = max(toldClear, event.number)
            if let clear = standing?.marks.clear { standing?.marks.clear = max(clear, event.number) }
            effects.voidsEverything = apply(clear: event.number)
        case .unknownTags:
            beginTable()
            effects.voidsEverything = true
        case .tags(let names):
            insertStep(names, event.number)
            effects.voided = names
        }
        return effects
    }

    /// The answer to a look; `nil` when there was none.
    mutating func looked(_ question: Look, _ marks: TagMarks?, at now: MonotonicInstant = .now) -> Effects {
        isLooking = false
        let again = looksAgain
        looksAgain = false
        guard let marks else {
            // The next PONG asks again. Until then every entry is checked in Redis.
            standing = nil
            return Effects()
        }
        if isRefuted(question.known, by: marks) { return refuted(by: marks) }
        highest = max(highest, marks.sequence)
        guard isListening, question.epoch == epoch else { return isListening ? Effects(look: look()) : Effects() }
        var effects = Effects(voidsEverything: apply(clear: marks.clear))
        if let known = standing {
            standing?.marks.clear = max(known.marks.clear, marks.clear)
            if marks.sequence > known.told {
                // The link may still report the tags; until then they are read from Redis.
                standing?.marks.sequence = max(known.marks.sequence, marks.sequence)
                owed = (marks.sequence, now)
            }
        } else {
            let sequence = max(marks.sequence, told)
            // The answer overtook the link: what that told before may be outdated, and so may numbers that are on their
            // way.
            if marks.sequence > told { beginTable() } else { epoch += 1 }
            standing = Standing(
                marks: TagMarks(sequence: sequence, clear: max(marks.clear, toldClear)),
                floor: max(marks.sequence, toldFloor),
                told: sequence
            )
        }
        if again { effects.look = look() }
        return effects
    }

    // MARK: Answers to this instance's own questions

    /// The number of an invalidation by this instance, which is in force once the effects are carried out.
    ///
    /// - Parameters:
    ///   - marks: The answer.
    ///   - names: The tags that were invalidated.
    ///   - known: The number that the question bore.
    /// - Returns: The effects.
    mutating func took(_ marks: TagMarks, for names: [TagName], known: InvalidationNumber = 0) -> Effects {
        if isRefuted(known, by: marks) {
            var effects = refuted(by: marks)
            effects.voided = names
            return effects
        }
        highest = max(highest, marks.sequence)
        let effects = Effects(voidsEverything: apply(clear: marks.clear), voided: names)
        guard isListening else { return effects }
        // A running look may have been answered before.
        toldClear = max(toldClear, marks.clear)
        if let known = standing {
            standing?.marks = TagMarks(
                sequence: max(known.marks.sequence, marks.sequence),
                clear: max(known.marks.clear, marks.clear)
            )
        }
        insertStep(names, marks.sequence)
        return effects
    }

    /// The marks as a call has read them.
    ///
    /// - Parameters:
    ///   - marks: The answer.
    ///   - known: The number that the question bore; 0 for none.
    /// - Returns: The effects.
    mutating func learnt(_ marks: TagMarks, known: InvalidationNumber = 0) -> Effects {
        if isRefuted(known, by: marks) { return refuted(by: marks) }
        highest = max(highest, marks.sequence)
        return Effects()
    }

    /// The marks from a look that keeps them warm; news lead to a look of their own.
    mutating func glimpsed(_ marks: TagMarks, known: InvalidationNumber) -> Effects {
        let effects = learnt(marks, known: known)
        guard effects == Effects(), let standing else { return effects }
        return marks.sequence > standing.told || marks.clear > standing.marks.clear ? hashChanged() : effects
    }

    /// A server answers with a lower number than that of the question only when it does not believe that one.
    private func isRefuted(_ known: InvalidationNumber, by marks: TagMarks) -> Bool {
        marks.sequence < known && known <= highest
    }

    /// The highest number was forged: this instance begins anew with the server's.
    private mutating func refuted(by marks: TagMarks) -> Effects {
        highest = marks.sequence
        appliedClear = 0
        return begunAnew()
    }

    /// Numbers that were read; the question was asked at `epoch`.
    mutating func learnt(_ numbers: [(TagName, InvalidationNumber)], askedAt epoch: UInt64) {
        guard standing != nil, epoch == self.epoch else { return }
        for (name, number) in numbers where note(number, for: name) {
            // The others may be from before what was forgotten.
            return
        }
    }

    // MARK: Judging

    /// Whether every invalidation up to a number is known here.
    ///
    /// A number from an answer may overtake the link: then lower ones of other tags may still be on their way.
    func isComplete(upTo number: InvalidationNumber) -> Bool { standing.map { number <= $0.told } ?? false }

    /// The verdict on an entry, while the link stands.
    func verdict(asOf: InvalidationNumber, _ tags: [TagName]) -> Verdict {
        guard let standing else { return .unknown }
        guard asOf >= standing.marks.clear else { return .void }
        // Higher than the known number: a step that is not reported yet, or a number from before data was lost.
        guard asOf <= standing.marks.sequence else { return .unknown }
        let isOwed = owed.map { $0.number > standing.told && $0.number > asOf } ?? false
        var missing: [TagName] = []
        for tag in tags {
            let number = numbers[tag]
            if let number, number > asOf { return .void }
            if isOwed || number == nil && asOf < standing.floor { missing.append(tag) }
        }
        return missing.isEmpty ? .valid : .asks(missing)
    }

    // MARK: Inside

    /// Whether memory must be emptied for a clear.
    private mutating func apply(clear: InvalidationNumber) -> Bool {
        defer { appliedClear = max(appliedClear, clear) }
        return clear > appliedClear
    }

    private mutating func look() -> Look? {
        guard isListening, !isLooking else {
            looksAgain = isListening
            return nil
        }
        isLooking = true
        return Look(epoch: epoch, known: highest)
    }

    private mutating func forget() {
        epoch += 1
        standing = nil
        owed = nil
        told = 0
        toldClear = 0
        toldFloor = 0
        awaitsReport = false
        looksAtPong = false
        numbers.removeAll()
    }

    /// Empties the table, with the highest known number as its floor.
    ///
    /// A lower floor would undo invalidations by this instance that the link has not reported yet.
    private mutating func beginTable() {
        epoch += 1
        numbers.removeAll()
        toldFloor = highest
        standing?.floor = highest
    }

    /// Notes a step.
    ///
    /// A step that is not above the floor says nothing about a tag outside the table: a later step of the tag may have
    /// been forgotten, so its number must be read.
    private mutating func insertStep(_ names: [TagName], _ number: InvalidationNumber) {
        for name in names where number > floor || numbers[name] != nil { note(number, for: name) }
    }

    private var floor: InvalidationNumber { standing?.floor ?? toldFloor }

    /// - Returns: Whether others were forgotten for it.
    @discardableResult
    private mutating func note(_ number: InvalidationNumber, for name: TagName) -> Bool {
        guard let forgotten = numbers.note(number, for: name) else { return false }
        // An answer that is on its way may be from before what was forgotten.
        epoch += 1
        toldFloor = max(toldFloor, forgotten)
        if let floor = standing?.floor { standing?.floor = max(floor, forgotten) }
        return true
    }
}
