internal import Strata

extension RedisClient {
    /// A step on a keyspace's hash.
    enum TagStep: Sendable {
        case look
        case take(TagEvent.Scope)
    }

    /// Runs ``TagScripts/advance``.
    ///
    /// One round trip.
    ///
    /// - Parameters:
    ///   - step: Whether to take a number.
    ///   - keyspace: Whose.
    ///   - part: Which part of it.
    ///   - known: The highest number that this instance knows.
    ///   - deadline: When there is no more time, for a repetition: that goes past the breaker.
    /// - Returns: The marks; with a sequence below `known`, the server does not believe that number.
    /// - Throws: ``RedisError``; `CancellationError`.
    @discardableResult
    func advance(
        _ step: TagStep,
        in keyspace: Keyspace,
        _ part: KeyspacePart?,
        known: InvalidationNumber = 0,
        repeatedBy deadline: MonotonicInstant? = nil
    ) async throws -> TagMarks {
        let role: RedisRole = if case .take = step { .remove } else { .read }
        let marks = RedisKey(keyspace.marks(of: part))
        func advance(_ timeout: Duration) async throws -> RESPValue {
            try await run(
                TagScripts.advance,
                keys: [marks],
                arguments: Self.arguments(step, keyspace, part, in: configuration.database, known: known),
                repetition: .repeatable,
                timeout: timeout
            )
        }
        let reply =
            if let deadline {
                try await advance(timeout(until: deadline))
            } else {
                try await guarded(role, for: marks, advance)
            }
        guard let marks = Self.marks(in: reply) else { throw unexpected("advance") }
        if let account = InvalidationAccount.current, case .array(let parts) = reply, parts.count > 2,
            let before = parts[2].number(in: 0...Int64(TagMarks.highestNumber))
        {
            account.note(InvalidationNumber(before), to: marks.sequence)
        }
        return marks
    }

    private static func arguments(
        _ step: TagStep,
        _ keyspace: Keyspace,
        _ part: KeyspacePart?,
        in database: Int,
        known: InvalidationNumber,
        kept memory: Duration = TagMarks.shortestMemory
    ) -> [[UInt8]] {
        let memory = max(memory, TagMarks.shortestMemory)
        var arguments = [Array(String(known).utf8), keyspace.channel(of: part)]
        let (kind, names): (String, [TagName]) =
            switch step {
            case .look: ("l", [])
            case .take(.tags(let names)): ("t", names)
            case .take: ("c", [])
            }
        arguments += [Array(kind.utf8), Array(String(memory.saturatedNanoseconds / 1_000_000).utf8)]
        return arguments + [TagEvent.payload(of: names, database: database)] + names.map(\.bytes)
    }

    private static func marks(in reply: RESPValue) -> TagMarks? {
        guard case .array(let parts) = reply, (2...3).contains(parts.count),
            // A script may pass the highest number by as many as it gives out.
            let sequence = parts[0].number(in: 0...Int64(TagMarks.highestNumber) + 1_000_000),
            let clear = parts[1].number(in: 0...sequence)
        else { return nil }
        return TagMarks(sequence: InvalidationNumber(sequence), clear: InvalidationNumber(clear))
    }

    /// The answer to an HMGET.
    struct TagNumbers: Sendable {
        /// `nil` if they are lost or make no sense.
        var marks: TagMarks?
        /// No tag that was asked for has a higher number than it has here.
        var numbers: [TagName: InvalidationNumber] = [:]
        /// Tags whose numbers make no sense.
        var damaged: [TagName] = []
    }

    /// HMGET: the marks, and the numbers of tags.
    ///
    /// One round trip.
    func tagNumbers(
        of names: [TagName],
        in keyspace: Keyspace,
        _ part: KeyspacePart?
    ) async throws -> TagNumbers {
        let marks = RedisKey(keyspace.marks(of: part))
        let reply = try await guarded(.read, for: marks) { timeout in
            do {
                return try await execute(
                    .repeatable,
                    timeout: timeout,
                    slot: HashSlot.of(marks),
                    expecting: .list
                ) {
                    Self.encodeTagNumbers(names, marks, &$0)
                }
            } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
                return RESPValue.null
            }
        }
        // Another type lies there; the next question for the marks replaces it.
        if reply.isNull { return TagNumbers() }
        guard let found = Self.tagNumbers(names, in: reply) else { throw unexpected("HMGET") }
        return found
    }

    static func encodeTagNumbers(_ names: [TagName], _ marks: RedisKey, _ writer: inout CommandWriter) {
        writer.begin(5 + names.count)
        writer.argument("HMGET" as StaticString)
        writer.argument(marks)
        for field in ["s", "c", "f"] as [StaticString] { writer.argument(field) }
        for name in names { writer.argument(name.bytes) }
    }

    /// Reads the answer; `nil` for what is none.
    static func tagNumbers(_ names: [TagName], in reply: RESPValue) -> TagNumbers? {
        guard case .array(let parts) = reply, parts.count == 3 + names.count else { return nil }
        let fields = parts.map { part in part.bytes.map { TagMarks.number($0) ?? .max } }
        let floor = fields[2] ?? 0
        guard let sequence = fields[0], let clear = fields[1], clear <= sequence, floor <= sequence, sequence != .max
        else { return TagNumbers() }
        var found = TagNumbers(marks: TagMarks(sequence: sequence, clear: clear))
        for (name, number) in zip(names, fields.dropFirst(3)) {
            if number ?? 0 > sequence { found.damaged.append(name) }
            // A senseless number voids the entries with the tag. A tag without a number may have been forgotten.
            found.numbers[name] = number ?? floor
        }
        return found
    }

    /// A function that reads a keyspace's marks, for calls from the I/O thread: by the script that makes them where
    /// they are missing, or for a glimpse by an HMGET, and the script where that does not find them whole.
    ///
    /// It holds the way to the server and not the client, so that a listener does not keep the client alive.
    ///
    /// - Parameters:
    ///   - keyspace: Whose.
    ///   - part: Which part of it.
    ///   - lifetime: How long its entries live; unread marks are kept for longer than that.
    /// - Returns: The function.
    func tagLookout(
        in keyspace: Keyspace,
        _ part: KeyspacePart?,
        entriesLiving lifetime: @autoclosure @escaping @Sendable () -> Duration
    ) -> KeyspaceTags.Lookout {
        let lookout = lookout
        let marks = keyspace.marks(of: part)
        let (timeout, database) = (configuration.commandTimeout, configuration.database)
        return { question, completion in
            let memory = lifetime() + TagMarks.reserve
            let arguments = Self.arguments(.look, keyspace, part, in: database, known: question.known, kept: memory)
            @Sendable func post(_ command: StaticString, _ script: String, _ next: (@Sendable () -> Void)?) {
                lookout.post(
                    deadline: MonotonicInstant.coarse.advanced(by: timeout),
                    slot: HashSlot.of(marks),
                    expecting: .array
                ) { outcome in
                    let reply = try? outcome.get()
                    if let next, case .error(let text) = reply, text.hasPrefix("NOSCRIPT") { return next() }
                    completion(reply.flatMap { Self.marks(in: $0) })
                } encode: { writer in
                    writer.begin(4 + arguments.count)
                    writer.argument(command)
                    writer.argument(script)
                    writer.argument(1)
                    writer.argument(marks)
                    for argument in arguments { writer.argument(argument) }
                }
            }
            @Sendable func ask() {
                post("EVALSHA", TagScripts.advance.digest) { post("EVAL", TagScripts.advance.source, nil) }
            }
            guard question.isGlimpse else { return ask() }
            lookout.post(
                deadline: MonotonicInstant.coarse.advanced(by: timeout),
                slot: HashSlot.of(marks),
                expecting: .list
            ) { outcome in
                guard let reply = try? outcome.get() else { return completion(nil) }
                // The script decides about a number that is missing, makes no sense, or is older than the known one.
                let whole = Self.tagNumbers([], in: reply)?.marks.flatMap { $0.sequence >= question.known ? $0 : nil }
                if let whole { completion(whole) } else { ask() }
            } encode: { writer in
                Self.encodeTagNumbers([], RedisKey(marks), &writer)
            }
        }
    }
}

extension RedisClient {
    /// HSCAN: one step through the fields of a keyspace's hash.
    func tagFields(
        in keyspace: Keyspace,
        _ part: KeyspacePart?,
        from cursor: UInt64
    ) async throws -> (next: UInt64, fields: [(name: [UInt8], number: [UInt8])]) {
        let (next, fields) = try await fields(of: RedisKey(keyspace.marks(of: part)), from: cursor)
        return (next, fields.map { (name: $0.name, number: $0.value) })
    }
}
