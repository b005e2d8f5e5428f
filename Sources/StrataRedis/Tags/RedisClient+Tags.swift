internal import Strata

extension RedisClient {
    /// What is asked of a keyspace's hash.
    enum TagStep: Sendable {
        case look
        case take(TagEvent.Scope)
    }

    /// Runs ``TagScripts/advance``.
    ///
    /// One round trip.
    @discardableResult
    func advance(_ step: TagStep, in keyspace: Keyspace, known: InvalidationNumber = 0) async throws -> TagMarks {
        let role: RedisRole = if case .take = step { .remove } else { .read }
        let reply = try await guarded(role) { timeout in
            try await run(
                TagScripts.advance,
                keys: [RedisKey(keyspace.marks)],
                arguments: Self.arguments(step, keyspace, known: known),
                repetition: .repeatable,
                timeout: timeout
            )
        }
        guard let marks = Self.marks(in: reply) else { throw unexpected("advance") }
        return marks
    }

    private static func arguments(_ step: TagStep, _ keyspace: Keyspace, known: InvalidationNumber) -> [[UInt8]] {
        var arguments = [Array(String(known).utf8), keyspace.events]
        switch step {
        case .look: arguments += [Array("l".utf8), []]
        case .take(.tags(let names)):
            arguments += [Array("t".utf8), TagEvent.payload(of: names)] + names.map(\.bytes)
        case .take: arguments += [Array("c".utf8), []]
        }
        return arguments
    }

    private static func marks(in reply: RESPValue) -> TagMarks? {
        guard case .array(let parts) = reply, parts.count == 2,
            let sequence = parts[0].integer.flatMap({ InvalidationNumber(exactly: $0) }),
            let clear = parts[1].integer.flatMap({ InvalidationNumber(exactly: $0) }),
            clear <= sequence, sequence <= TagMarks.highestNumber + 1_000_000
        else { return nil }
        return TagMarks(sequence: sequence, clear: clear)
    }

    /// HMGET: the marks, `nil` where they are lost or make no sense, and the numbers of tags; 0 of those that have none.
    ///
    /// One round trip.
    func tagNumbers(
        of names: [TagName],
        in keyspace: Keyspace
    ) async throws -> (marks: TagMarks?, numbers: [TagName: InvalidationNumber]) {
        let reply = try await guarded(.read) { timeout in
            try await execute(.repeatable, timeout: timeout) { writer in
                writer.begin(4 + names.count)
                writer.argument("HMGET" as StaticString)
                writer.argument(keyspace.marks)
                writer.argument("s" as StaticString)
                writer.argument("c" as StaticString)
                for name in names { writer.argument(name.bytes) }
            }
        }
        guard case .array(let parts) = reply, parts.count == 2 + names.count else { throw unexpected("HMGET") }
        let fields = parts.map { part in part.bytes.map { TagMarks.number($0) ?? .max } }
        var numbers: [TagName: InvalidationNumber] = [:]
        // What is no number voids whatever bears the tag.
        for (name, number) in zip(names, fields.dropFirst(2)) { numbers[name] = number ?? 0 }
        guard let sequence = fields[0], let clear = fields[1], clear <= sequence, sequence != .max else {
            return (nil, numbers)
        }
        return (TagMarks(sequence: sequence, clear: clear), numbers)
    }

    /// A function that looks at a keyspace's marks, for calls from the I/O thread.
    ///
    /// It holds the connection and not the client, so that whoever is told of changes does not keep the client alive.
    func tagLookout(in keyspace: Keyspace) -> KeyspaceTags.Lookout {
        let connection = lookout
        let timeout = configuration.commandTimeout
        return { question, completion in
            let arguments = Self.arguments(.look, keyspace, known: question.known)
            @Sendable func post(_ command: StaticString, _ script: String, _ next: (@Sendable () -> Void)?) {
                connection.post(deadline: MonotonicInstant.coarse.advanced(by: timeout)) { outcome in
                    let reply = try? outcome.get()
                    if let next, case .error(let text) = reply, text.hasPrefix("NOSCRIPT") { return next() }
                    completion(reply.flatMap { Self.marks(in: $0) })
                } encode: { writer in
                    writer.begin(4 + arguments.count)
                    writer.argument(command)
                    writer.argument(script)
                    writer.argument(1)
                    writer.argument(keyspace.marks)
                    for argument in arguments { writer.argument(argument) }
                }
            }
            post("EVALSHA", TagScripts.advance.digest) { post("EVAL", TagScripts.advance.source, nil) }
        }
    }
}

extension RedisClient {
    /// HSCAN: one step through the fields of a keyspace's hash.
    func tagFields(
        in keyspace: Keyspace,
        from cursor: UInt64
    ) async throws -> (next: UInt64, fields: [(name: [UInt8], number: [UInt8])]) {
        let reply = try await execute(.repeatable) { writer in
            writer.begin(5)
            writer.argument("HSCAN" as StaticString)
            writer.argument(keyspace.marks)
            writer.argument(String(cursor))
            writer.argument("COUNT" as StaticString)
            writer.argument(512)
        }
        guard
            case .array(let parts) = reply, parts.count == 2,
            let next = parts[0].string.flatMap({ UInt64($0) }),
            case .array(let elements) = parts[1], elements.count.isMultiple(of: 2)
        else { throw unexpected("HSCAN") }
        let fields = stride(from: 0, to: elements.count, by: 2)
            .map { (name: elements[$0].bytes ?? [], number: elements[$0 + 1].bytes ?? []) }
        return (next, fields)
    }
}
