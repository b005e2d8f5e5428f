internal import Strata
internal import Synchronization

/// The invalidations of a keyspace, or of a part of it, as one instance sees them.
///
/// While the link stands, its reports suffice; otherwise the server is asked. The table changes first, then the gate's
/// counters: in any order of events, an entry is never taken for valid once its invalidation is known here.
final class KeyspaceTags: ServerKeyKeeper {
    /// Asks the server for the marks, for calls from the I/O thread.
    typealias Lookout = @Sendable (TagTable.Look, @escaping @Sendable (TagMarks?) -> Void) -> Void

    let keyspace: Keyspace
    /// `nil` for the whole keyspace.
    let part: KeyspacePart?
    private let gate: FillGate
    private let gatePart: Int
    private let lookout: Lookout
    private let table: Locked<TagTable>
    private let onClear = Locked<(@Sendable () -> Void)?>(nil)
    /// When the keyspace was last used, and when the marks were last read to keep them warm.
    private let lastUse = Atomic<Int64>(MonotonicInstant.coarse.nanoseconds)
    private let lastGlimpse = Atomic<Int64>(MonotonicInstant.coarse.nanoseconds)
    /// When the script that renews their time to live was last run for that.
    private let lastRenewal = Atomic<Int64>(MonotonicInstant.coarse.nanoseconds)
    /// How often it is run; without the link that is how often the marks are read for this.
    private static let renewalPause: Int64 = 60_000_000_000

    init(keyspace: Keyspace, part: KeyspacePart? = nil, gate: FillGate, lookout: @escaping Lookout) {
        self.keyspace = keyspace
        self.part = part
        table = Locked(TagTable(part == nil ? TagNumbers() : TagNumbers(generation: TagNumbers.generationOfPart)))
        gatePart = part?.number ?? 0
        self.gate = gate
        self.lookout = lookout
    }

    /// The number for fetches that begin now.
    ///
    /// As long as no number is known, it is older than all.
    var asOf: InvalidationNumber { max(1, gate.sequence(ofPart: gatePart)) }

    /// Voids what the memory above this level has of a key.
    func void(_ names: KeyNames, because cause: VoidCause) { gate.void(names.fingerprint, because: cause) }

    /// Whether entries can be judged without asking the server.
    var isKnown: Bool { .coarse < gate.trustedUntil(ofPart: gatePart) && table.withLock { $0.standing != nil } }

    /// The highest number that is known.
    var highest: InvalidationNumber { table.withLock { $0.highest } }

    /// What is known, for tests.
    var snapshot: TagTable { table.withLock { $0 } }

    // MARK: The link

    func linkEstablished() { change(because: .untrusted) { $0.established() } }

    func linkTrusted(told: MonotonicInstant) {
        if change({ $0.pong(told: told) }).voidsEverything { onClear.withLock { $0 }?() }
        keepWarm(at: .coarse)
    }

    func linkLost() { table.withLock { $0.lost() } }

    func hashChanged() { change { $0.hashChanged() } }

    func everythingChanged() { change { $0.begunAnew() } }

    /// A message of another instance has come.
    ///
    /// Ignores a message that makes no sense: a missing step shows in the next message, and in the hash.
    ///
    /// Returns the effects.
    func heard(_ message: [UInt8]) -> TagTable.Effects {
        TagEvent(message).map { event in change { $0.heard(event) } } ?? TagTable.Effects()
    }

    /// Sets a function to call when an answer, or a missing report, has voided everything.
    func onClear(_ action: @escaping @Sendable () -> Void) { onClear.withLock { $0 = action } }

    @discardableResult
    private func change(
        because cause: VoidCause = .cleared,
        _ body: (inout TagTable) -> TagTable.Effects
    ) -> TagTable.Effects {
        let effects = table.withLock { table in
            let effects = body(&table)
            gate.setSequence(table.highest, ofPart: gatePart)
            // Inside the lock: a read that sees known numbers takes tickets that this must not void.
            if effects.voidsEverything { gate.voidAll(ofPart: gatePart, because: cause) }
            return effects
        }
        gate.void(tagFingerprints: effects.voided.map { $0.fingerprint() })
        if let look = effects.look {
            lookout(look) { [weak self] marks in
                self?.changeFromAnswer { $0.looked(look, marks) }
            }
        }
        return effects
    }

    private func changeFromAnswer(_ body: (inout TagTable) -> TagTable.Effects) {
        if change(body).voidsEverything { onClear.withLock { $0 }?() }
    }

    // MARK: Use

    /// The marks, which every instance reads again and again.
    func keysKept(until running: MonotonicInstant) -> [[UInt8]] { [keyspace.marks(of: part)] }

    /// Notes that the keyspace is used.
    func used() {
        let now = MonotonicInstant.coarse
        lastUse.store(now.nanoseconds, ordering: .relaxed)
        keepWarm(at: now)
    }

    /// Reads the marks regularly, so that a server that evicts the least used keys does not evict them.
    ///
    /// While the link stands no read needs the marks, and their loss voids the whole keyspace. They are read each
    /// second while the keyspace is used, then at pauses of an eighth of the time since its last use, up to a minute,
    /// so they are used more than any entry. Without the link reads use them, and one look a minute is enough to renew
    /// their time to live.
    ///
    /// The look that renews is a script; the others are one HMGET.
    private func keepWarm(at now: MonotonicInstant) {
        let last = lastGlimpse.load(ordering: .relaxed)
        let pause = now.nanoseconds - last
        guard pause >= 1_000_000_000 else { return }
        let idle = now.nanoseconds - lastUse.load(ordering: .relaxed)
        var (isListening, question) = table.withLock { table in
            (table.isListening, TagTable.Look(epoch: table.epoch, known: table.highest))
        }
        guard pause >= (isListening ? min(idle / 8, Self.renewalPause) : Self.renewalPause),
            lastGlimpse.compareExchange(expected: last, desired: now.nanoseconds, ordering: .relaxed).exchanged
        else { return }
        question.isGlimpse = now.nanoseconds - lastRenewal.load(ordering: .relaxed) < Self.renewalPause
        if !question.isGlimpse { lastRenewal.store(now.nanoseconds, ordering: .relaxed) }
        let known = question.known
        lookout(question) { [weak self] marks in
            guard let marks else { return }
            self?.changeFromAnswer { $0.glimpsed(marks, known: known) }
        }
    }

    // MARK: Judging

    /// Whether an entry is valid, which was sealed before this call; `nil` when Redis must be asked.
    func knows(_ asOf: InvalidationNumber, _ tags: [String]) -> Bool? {
        guard .coarse < gate.trustedUntil(ofPart: gatePart) else { return nil }
        let names = TagName.unique(tags)
        return switch table.withLock({ $0.verdict(asOf: asOf, names) }) {
        case .valid: true
        case .void: false
        case .asks, .unknown: nil
        }
    }

    /// Whether what follows from a valid entry may bear a number, by what is known here.
    ///
    /// - Returns: False when an invalidation up to the number may still be on its way to this instance.
    func isComplete(upTo number: InvalidationNumber) -> Bool {
        .coarse < gate.trustedUntil(ofPart: gatePart) && table.withLock { $0.isComplete(upTo: number) }
    }

    /// Whether everything of this number is known to have been cleared; for accounts of reads.
    func hasCleared(_ asOf: InvalidationNumber) -> Bool {
        table.withLock { table in table.standing.map { asOf < $0.marks.clear } ?? false }
    }

    /// Whether entries are valid, each given by its number and its tags, and sealed before this call.
    ///
    /// No round trip where the table knows; otherwise one HMGET for all.
    ///
    /// - Parameters:
    ///   - entries: The entries.
    ///   - asked: The marks, if they were read after the entries were asked for.
    ///   - redis: The server.
    ///   - asksServer: Whether the server is asked whatever the table knows.
    /// - Returns: Whether each is valid, in their order.
    /// - Throws: ``RedisError``; `CancellationError`.
    func admits(
        _ entries: [(asOf: InvalidationNumber, tags: [TagName])],
        _ asked: TagMarks.Asked?,
        _ redis: RedisClient,
        asksServer: Bool = false
    ) async throws -> [Bool] {
        // Marks from before an invalidation by this instance say nothing about an entry that was sealed after it.
        let asked = asked.flatMap { $0.tagChanges == gate.tagChanges ? $0.marks : nil }
        let isTrusted = !asksServer && .coarse < gate.trustedUntil(ofPart: gatePart)
        let (verdicts, epoch) = table.withLock { table in
            (entries.map { isTrusted ? table.verdict(asOf: $0.asOf, $0.tags) : .unknown }, table.epoch)
        }
        guard !verdicts.allSatisfy({ $0 == .valid || $0 == .void }) else { return verdicts.map { $0 == .valid } }
        var wanted: Set<TagName> = []
        var asksForMarks = false
        for (entry, verdict) in zip(entries, verdicts) {
            switch verdict {
            case .valid, .void: continue
            case .asks(let tags): wanted.formUnion(tags)
            case .unknown:
                // With fresh marks, the tags matter only to entries older than the last invalidation.
                if asked == nil { asksForMarks = true }
                if asked.map({ entry.asOf >= $0.clear && entry.asOf < $0.sequence }) ?? true {
                    wanted.formUnion(entry.tags)
                }
            }
        }
        var marks = asked
        var numbers: [TagName: InvalidationNumber] = [:]
        if !wanted.isEmpty || asksForMarks {
            let names = Array(wanted)
            let answer = try await redis.tagNumbers(of: names, in: keyspace, part)
            marks = try await known(answer.marks, redis)
            numbers = answer.numbers
            // A senseless number is replaced by an invalidation; until that succeeds it voids the entries with the tag.
            if !answer.damaged.isEmpty { try? await invalidate(.tags(answer.damaged), redis) }
            // Numbers from a lost hash are ignored.
            if answer.marks == marks, answer.damaged.isEmpty {
                let all = names.map { ($0, answer.numbers[$0] ?? 0) }
                table.withLock { $0.learnt(all, askedAt: epoch) }
            }
        }
        return zip(entries, verdicts)
            .map { entry, verdict in
                switch verdict {
                case .valid: return true
                case .void: return false
                case .asks(let tags):
                    guard let marks, entry.asOf >= marks.clear else { return false }
                    return tags.allSatisfy { (numbers[$0] ?? 0) <= entry.asOf }
                case .unknown:
                    guard let marks, (marks.clear...marks.sequence).contains(entry.asOf) else { return false }
                    return entry.tags.allSatisfy { (numbers[$0] ?? 0) <= entry.asOf }
                }
            }
    }

    /// Whether an entry is valid by numbers that a replica has; false also when those are behind what this instance
    /// knows.
    func admits(_ asOf: InvalidationNumber, _ tags: [TagName], by read: RedisClient.TagNumbers) -> Bool {
        guard let marks = read.marks, marks.sequence >= highest, read.damaged.isEmpty,
            (marks.clear...marks.sequence).contains(asOf)
        else { return false }
        return tags.allSatisfy { (read.numbers[$0] ?? 0) <= asOf }
    }

    /// A seal for an entry that was just fetched; `nil` when the table cannot tell whether one of its tags was
    /// invalidated meanwhile.
    func seal<Value>(_ entry: Entry<Value>) -> TagSeal? {
        guard !entry.tags.isEmpty, .coarse < gate.trustedUntil(ofPart: gatePart) else { return nil }
        let seal = gate.seal(entry.tags)
        let names = TagName.unique(entry.tags)
        return table.withLock { $0.verdict(asOf: entry.asOf, names) } == .valid ? seal : nil
    }

    // MARK: Asking

    /// The marks in Redis, for checking entries that are read beside them.
    ///
    /// One round trip.
    func askBesideRead(_ redis: RedisClient) async throws -> TagMarks.Asked {
        let tagChanges = gate.tagChanges
        return TagMarks.Asked(marks: try await ask(redis), tagChanges: tagChanges)
    }

    /// The marks in Redis.
    ///
    /// One round trip.
    func ask(_ redis: RedisClient) async throws -> TagMarks {
        try await known(redis.tagNumbers(of: [], in: keyspace, part).marks, redis)
    }

    /// The number for an entry that a user sets now.
    ///
    /// No round trip while the link stands, otherwise one.
    func asOfNow(_ redis: RedisClient) async throws -> InvalidationNumber {
        isKnown ? asOf : try await ask(redis).sequence
    }

    /// Asks for the number where none is known yet: an entry without one counts as older than all, and is void where it
    /// is stored.
    ///
    /// No round trip but that one, in a process that has not been told the number and has not read an entry either.
    /// Without an answer what is known stays.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - isUnread: The key was not read, which asks for the number where the link does not tell it. Then one that was
    ///     known may be old.
    func learn(_ redis: RedisClient, isUnread: Bool = false) async {
        func isUnknown() -> Bool { gate.sequence(ofPart: gatePart) == 0 || isUnread && !isKnown }
        guard isUnknown() else { return }
        _ = try? await redis.inTurn(for: RedisKey(keyspace.marks(of: part))) {
            // Of many keys at once the first have asked for all.
            if isUnknown() { _ = try await ask(redis) }
        }
    }

    /// Notes marks.
    ///
    /// When the server has lost them, or has lower numbers than this instance, its numbers begin anew, and everything
    /// in the keyspace is void.
    private func known(_ read: TagMarks?, _ redis: RedisClient) async throws -> TagMarks {
        let highest = highest
        if let read, read.sequence >= highest {
            changeFromAnswer { $0.learnt(read) }
            return read
        }
        let marks = try await redis.advance(.look, in: keyspace, part, known: highest)
        changeFromAnswer { $0.learnt(marks, known: highest) }
        return marks
    }

    // MARK: Invalidating

    /// Invalidates tags, or everything; from its return on, this instance takes no older entry for valid.
    ///
    /// One round trip for each thousand tags.
    func invalidate(_ scope: TagEvent.Scope, _ redis: RedisClient) async throws {
        let known = highest
        took(try await redis.advance(.take(scope), in: keyspace, part, known: known), for: scope, known: known)
    }

    /// Notes the answer to an invalidation by this instance, which bore the number `known`.
    func took(_ marks: TagMarks, for scope: TagEvent.Scope, known: InvalidationNumber) {
        var names: [TagName] = []
        if case .tags(let tags) = scope { names = tags }
        changeFromAnswer { $0.took(marks, for: names, known: known) }
    }
}
