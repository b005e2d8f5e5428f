internal import Strata
internal import Synchronization

/// The invalidations by tag and by clear of a keyspace, or of a part of it, as one instance sees them.
///
/// While the link stands, what it tells suffices; else the server is asked. Whatever the order of things, an entry that was
/// invalidated is not taken for valid once that is known here: the table changes first, then the gate's counters.
final class KeyspaceTags: Sendable {
    /// Asks the server for the marks, for calls from the I/O thread.
    typealias Lookout = @Sendable (TagTable.Look, @escaping @Sendable (TagMarks?) -> Void) -> Void

    private let keyspace: Keyspace
    /// `nil` for the whole keyspace.
    let part: KeyspacePart?
    private let gate: FillGate
    private let gatePart: Int
    private let lookout: Lookout
    private let table = Locked(TagTable())
    private let onClear = Locked<(@Sendable () -> Void)?>(nil)
    /// When something of the keyspace was last asked for at Redis, and when the marks were last looked at to keep them warm.
    private let lastUse = Atomic<Int64>(MonotonicInstant.coarse.nanoseconds)
    private let lastGlimpse = Atomic<Int64>(MonotonicInstant.coarse.nanoseconds)

    init(keyspace: Keyspace, part: KeyspacePart? = nil, gate: FillGate, lookout: @escaping Lookout) {
        self.keyspace = keyspace
        self.part = part
        gatePart = part?.number ?? 0
        self.gate = gate
        self.lookout = lookout
    }

    /// The number for what is fetched from now on.
    ///
    /// Where nothing is known yet, that is older than everything.
    var asOf: InvalidationNumber { max(1, gate.sequence(ofPart: gatePart)) }

    /// Whether entries can be judged without asking the server.
    var isKnown: Bool { .coarse < gate.trustedUntil(ofPart: gatePart) && table.withLock { $0.standing != nil } }

    /// What is known, for tests.
    var snapshot: TagTable { table.withLock { $0 } }

    // MARK: The link

    func linkEstablished() { change { $0.established() } }

    func linkTrusted() {
        if change({ $0.pong() }).voidsEverything { onClear.withLock { $0 }?() }
        keepWarm(at: .coarse)
    }

    func linkLost() { table.withLock { $0.lost() } }

    func hashChanged() { change { $0.hashChanged() } }

    func everythingChanged() { change { $0.begunAnew() } }

    /// Another instance has told of an invalidation.
    ///
    /// A message that makes no sense is nobody's: what is missing shows in the next one, and in the hash.
    ///
    /// Returns what was voided.
    func heard(_ message: [UInt8]) -> TagTable.Effects {
        TagEvent(message).map { event in change { $0.heard(event) } } ?? TagTable.Effects()
    }

    /// Calls a function when everything was voided because of what the server has answered, or has failed to tell.
    func onClear(_ action: @escaping @Sendable () -> Void) { onClear.withLock { $0 = action } }

    @discardableResult
    private func change(_ body: (inout TagTable) -> TagTable.Effects) -> TagTable.Effects {
        let effects = table.withLock { table in
            let effects = body(&table)
            gate.setSequence(table.highest, ofPart: gatePart)
            return effects
        }
        if effects.voidsEverything { gate.voidAll(ofPart: gatePart) }
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

    /// Something of the keyspace is asked for at Redis.
    func used() {
        let now = MonotonicInstant.coarse
        lastUse.store(now.nanoseconds, ordering: .relaxed)
        keepWarm(at: now)
    }

    /// Looks at the marks now and then, so that a server which evicts what is least used does not evict them.
    ///
    /// While changes are told nobody asks for the marks, and the loss of them voids the whole keyspace. They are looked at each
    /// second while the keyspace is used, then at pauses of an eighth of the time for which it was not, up to a minute: they
    /// are warmer than any entry. While nobody tells, reads look at them, and a minute is enough to renew their time to live.
    private func keepWarm(at now: MonotonicInstant) {
        let last = lastGlimpse.load(ordering: .relaxed)
        let pause = now.nanoseconds - last
        guard pause >= 1_000_000_000 else { return }
        let idle = now.nanoseconds - lastUse.load(ordering: .relaxed)
        let (isListening, question) = table.withLock { table in
            (table.isListening, TagTable.Look(epoch: table.epoch, known: table.highest))
        }
        guard pause >= (isListening ? min(idle / 8, 60_000_000_000) : 60_000_000_000),
            lastGlimpse.compareExchange(expected: last, desired: now.nanoseconds, ordering: .relaxed).exchanged
        else { return }
        lookout(question) { [weak self] marks in
            guard let marks else { return }
            self?.changeFromAnswer { $0.glimpsed(marks, known: question.known) }
        }
    }

    // MARK: Judging

    /// Whether an entry is valid, sealed before this is called; `nil` when that has to be asked for.
    func knows(_ asOf: InvalidationNumber, _ tags: [String]) -> Bool? {
        guard .coarse < gate.trustedUntil(ofPart: gatePart) else { return nil }
        let names = TagName.unique(tags)
        return switch table.withLock({ $0.verdict(asOf: asOf, names) }) {
        case .valid: true
        case .void: false
        case .asks, .unknown: nil
        }
    }

    /// Whether entries are valid, each given by its number and its tags; they are sealed before this is called.
    ///
    /// No round trip where the table knows; else one HMGET for all.
    ///
    /// - Parameters:
    ///   - entries: The entries.
    ///   - asked: The marks, if they were read since the entries were asked for.
    ///   - redis: The server.
    /// - Returns: Whether each is valid, in their order.
    /// - Throws: ``RedisError``; `CancellationError`.
    func admits(
        _ entries: [(asOf: InvalidationNumber, tags: [TagName])],
        _ asked: TagMarks.Asked?,
        _ redis: RedisClient
    ) async throws -> [Bool] {
        // What was asked for before an invalidation of this instance says nothing to an entry that was sealed after it.
        let asked = asked.flatMap { $0.tagChanges == gate.tagChanges ? $0.marks : nil }
        let isTrusted = .coarse < gate.trustedUntil(ofPart: gatePart)
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
                // With marks that were just read, the tags matter only to what is older than the last invalidation.
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
            // What makes no sense is replaced, as by an invalidation; until that has succeeded it voids what bears the tag.
            if !answer.damaged.isEmpty { try? await invalidate(.tags(answer.damaged), redis) }
            // Numbers from a hash that was lost are none, and void everything.
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

    /// A seal for what was just fetched, where it is known without asking that none of its tags was invalidated meanwhile.
    func seal<Value>(_ entry: Entry<Value>) -> TagSeal? {
        guard !entry.tags.isEmpty, .coarse < gate.trustedUntil(ofPart: gatePart) else { return nil }
        let seal = gate.seal(entry.tags)
        let names = TagName.unique(entry.tags)
        return table.withLock { $0.verdict(asOf: entry.asOf, names) } == .valid ? seal : nil
    }

    // MARK: Asking

    /// The marks as they stand at the server, for judging what is read beside them.
    ///
    /// One round trip.
    func askBesideRead(_ redis: RedisClient) async throws -> TagMarks.Asked {
        let tagChanges = gate.tagChanges
        return TagMarks.Asked(marks: try await ask(redis), tagChanges: tagChanges)
    }

    /// The marks as they stand at the server.
    ///
    /// One round trip.
    func ask(_ redis: RedisClient) async throws -> TagMarks {
        try await known(redis.tagNumbers(of: [], in: keyspace, part).marks, redis)
    }

    /// The number for what a user sets now.
    ///
    /// No round trip while changes are told, else one.
    func asOfNow(_ redis: RedisClient) async throws -> InvalidationNumber {
        isKnown ? asOf : try await ask(redis).sequence
    }

    /// Takes marks down; where the server has lost them, or knows of fewer than this instance does, it begins anew and
    /// everything that lies there is void.
    private func known(_ read: TagMarks?, _ redis: RedisClient) async throws -> TagMarks {
        let highest = table.withLock { $0.highest }
        if let read, read.sequence >= highest {
            changeFromAnswer { $0.learnt(read) }
            return read
        }
        let marks = try await redis.advance(.look, in: keyspace, part, known: highest)
        changeFromAnswer { $0.learnt(marks, known: highest) }
        return marks
    }

    // MARK: Invalidating

    /// Invalidates tags, or everything; when it returns, this instance takes nothing older for valid.
    ///
    /// One round trip for each thousand tags.
    func invalidate(_ scope: TagEvent.Scope, _ redis: RedisClient) async throws {
        var names: [TagName] = []
        if case .tags(let tags) = scope { names = tags }
        let known = table.withLock { $0.highest }
        let marks = try await redis.advance(.take(scope), in: keyspace, part, known: known)
        change { $0.took(marks, for: names, known: known) }
    }
}
