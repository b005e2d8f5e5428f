internal import Strata

/// What an instance knows of a keyspace's invalidations without asking.
///
/// While the link stands it knows the sequence, the clear mark and, of every tag, either its number or that it is not above
/// ``Standing/floor``: whatever was invalidated since is told and taken down. So an entry whose fetch began at the floor or
/// later needs no look-up at all, and of an older one only the tags that are not in the table.
///
/// A value without I/O: events come in, what is to be done goes out.
struct TagTable: Sendable {
    /// What is known while every step is told.
    struct Standing: Sendable, Hashable {
        var marks: TagMarks
        /// A tag that is not in the table has no higher number than this.
        var floor: InvalidationNumber
        /// The last number that was told over the link.
        ///
        /// Others are learnt from answers, which may overtake what is told.
        var told: InvalidationNumber
    }

    /// What follows from an event, to be done in this order and after the table was changed.
    struct Effects: Sendable, Equatable {
        var voidsEverything = false
        var voided: [TagName] = []
        /// The server is to be asked for the marks; the answer goes to ``TagTable/looked(_:_:)`` with this.
        var look: Look?
    }

    /// A question for the marks.
    struct Look: Sendable, Equatable {
        var epoch: UInt64
        /// The highest number that this instance has heard of: a server that knows only lower ones has lost data.
        var known: InvalidationNumber
    }

    enum Verdict: Sendable, Hashable {
        case valid
        case void
        /// These tags' numbers have to be asked for.
        case asks([TagName])
        /// Everything has to be asked for.
        case unknown
    }

    /// Above this many tags the table begins anew.
    static let capacity = 16_384
    /// A number that is told is not believed when it is further ahead than this: a year in microseconds.
    ///
    /// It may be right (nobody has invalidated anything for a year), and the server knows; whoever may publish must not be
    /// able to use up all numbers.
    static let longestStep: InvalidationNumber = 366 * 86_400 * 1_000_000

    /// The highest number that was ever learnt, in any way, and was not refuted.
    private(set) var highest: InvalidationNumber = 0
    /// `nil` while nobody tells, or the answer is still out.
    private(set) var standing: Standing?
    private var numbers: [TagName: InvalidationNumber] = [:]
    /// Moves when the table begins anew: answers to questions from before do not go into it.
    private(set) var epoch: UInt64 = 0
    private(set) var isListening = false
    private var isLooking = false
    private var looksAgain = false
    /// A number that an answer has shown and that has to be told, with the count of PONGs since.
    private var owed: (number: InvalidationNumber, pongs: Int)?
    /// What was told while there was no standing.
    private var told: InvalidationNumber = 0
    private var toldClear: InvalidationNumber = 0
    private var toldFloor: InvalidationNumber = 0
    /// The last clear for which memory was emptied: it may be learnt of in two ways.
    private var appliedClear: InvalidationNumber = 0

    var count: Int { numbers.count }

    // MARK: The link

    /// From now on every step is told.
    mutating func established() -> Effects {
        isListening = true
        return begunAnew()
    }

    /// Steps are no longer told.
    mutating func lost() {
        isListening = false
        forget()
    }

    /// The database was flushed, or what was told makes no sense.
    mutating func begunAnew() -> Effects {
        forget()
        return Effects(voidsEverything: true, look: look())
    }

    /// The hash has changed: a step that is told as well, or something else.
    mutating func hashChanged() -> Effects {
        guard isListening else { return Effects() }
        if isLooking {
            looksAgain = true
            return Effects()
        }
        return Effects(look: look())
    }

    /// Everything that was told before the last PING but one has arrived.
    mutating func pong() -> Effects {
        guard isListening else { return Effects() }
        if standing == nil, !isLooking { return Effects(look: look()) }
        guard var due = owed else { return Effects() }
        if let standing, standing.told >= due.number {
            owed = nil
            return Effects()
        }
        due.pongs += 1
        owed = due
        // The number should have been told by now: somebody has changed the hash by hand.
        return due.pongs < 3 ? Effects() : begunAnew()
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
    mutating func looked(_ question: Look, _ marks: TagMarks?) -> Effects {
        isLooking = false
        let again = looksAgain
        looksAgain = false
        guard let marks else {
            // Asked again at the next PONG. Until then everything is asked for.
            if question.epoch == epoch { standing = nil }
            return Effects()
        }
        if isRefuted(question.known, by: marks) { return refuted(by: marks) }
        highest = max(highest, marks.sequence)
        guard isListening, question.epoch == epoch else { return isListening ? Effects(look: look()) : Effects() }
        var effects = Effects(voidsEverything: apply(clear: marks.clear))
        if let known = standing {
            standing?.marks.clear = max(known.marks.clear, marks.clear)
            if marks.sequence > known.told {
                // Which tags it was will be told, or is not; until then they are asked for.
                standing?.marks.sequence = max(known.marks.sequence, marks.sequence)
                beginTable()
                owed = (marks.sequence, 0)
            }
        } else {
            let sequence = max(marks.sequence, told)
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

    /// The number that an invalidation of this instance has got; it is effective when the effects are.
    ///
    /// - Parameters:
    ///   - marks: The answer.
    ///   - names: The tags that were invalidated.
    ///   - known: The number that the server was told with the question.
    /// - Returns: What is to be done.
    mutating func took(_ marks: TagMarks, for names: [TagName], known: InvalidationNumber = 0) -> Effects {
        if isRefuted(known, by: marks) {
            var effects = refuted(by: marks)
            effects.voided = names
            return effects
        }
        highest = max(highest, marks.sequence)
        let effects = Effects(voidsEverything: apply(clear: marks.clear), voided: names)
        guard isListening else { return effects }
        // A look that is under way may have been answered before.
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

    /// The marks as somebody has read them.
    ///
    /// - Parameters:
    ///   - marks: The answer.
    ///   - known: The number that the server was told with the question; 0 when it was told none.
    /// - Returns: What is to be done.
    mutating func learnt(_ marks: TagMarks, known: InvalidationNumber = 0) -> Effects {
        if isRefuted(known, by: marks) { return refuted(by: marks) }
        highest = max(highest, marks.sequence)
        return Effects()
    }

    /// The marks as they were found by the way; where they are news, they are looked at.
    mutating func glimpsed(_ marks: TagMarks, known: InvalidationNumber) -> Effects {
        let effects = learnt(marks, known: known)
        guard effects == Effects(), let standing else { return effects }
        return marks.sequence > standing.told || marks.clear > standing.marks.clear ? hashChanged() : effects
    }

    /// A server that has been told a number answers with a lower one only where it does not believe it.
    private func isRefuted(_ known: InvalidationNumber, by marks: TagMarks) -> Bool {
        marks.sequence < known && known <= highest
    }

    /// The highest number was made up by somebody: this instance begins anew with the server's.
    private mutating func refuted(by marks: TagMarks) -> Effects {
        highest = marks.sequence
        appliedClear = 0
        return begunAnew()
    }

    /// Numbers that were read; the question was asked at `epoch`.
    mutating func learnt(_ numbers: [(TagName, InvalidationNumber)], askedAt epoch: UInt64) {
        guard standing != nil, epoch == self.epoch else { return }
        insert(numbers)
    }

    // MARK: Judging

    /// What the table tells of an entry, while changes are told.
    func verdict(asOf: InvalidationNumber, _ tags: [TagName]) -> Verdict {
        guard let standing else { return .unknown }
        guard asOf >= standing.marks.clear else { return .void }
        // Higher than what is known here: a step that has not been told yet, or a number from before data was lost.
        guard asOf <= standing.marks.sequence else { return .unknown }
        var missing: [TagName] = []
        for tag in tags {
            if let number = numbers[tag] {
                if number > asOf { return .void }
            } else if asOf < standing.floor {
                missing.append(tag)
            }
        }
        return missing.isEmpty ? .valid : .asks(missing)
    }

    // MARK: Inside

    /// Whether memory has to be emptied for a clear.
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
        numbers.removeAll()
    }

    /// Empties the table; from now on it knows of what comes after everything that was ever learnt.
    ///
    /// A lower floor would undo what this instance has invalidated itself and has not been told of yet.
    private mutating func beginTable() {
        epoch += 1
        numbers.removeAll(keepingCapacity: true)
        toldFloor = highest
        standing?.floor = highest
    }

    /// Takes down a step.
    ///
    /// One that is not above the floor says nothing of a tag that is not in the table: a later step may have been forgotten
    /// with it, and it has to be asked for.
    private mutating func insertStep(_ names: [TagName], _ number: InvalidationNumber) {
        let floor = standing?.floor ?? toldFloor
        insert(names.filter { number > floor || numbers[$0] != nil }.map { ($0, number) })
    }

    private mutating func insert(_ new: [(TagName, InvalidationNumber)]) {
        if numbers.count + new.count > Self.capacity { beginTable() }
        for (name, number) in new.prefix(Self.capacity) { numbers[name] = max(numbers[name] ?? 0, number) }
    }
}
