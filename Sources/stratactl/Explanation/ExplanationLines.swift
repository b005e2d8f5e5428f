import StrataRedis

/// An explanation as lines for a person.
struct ExplanationLines {
    private(set) var fields = FieldList()

    init(_ found: KeyExplanation, _ verdict: ReadVerdict, _ memory: MemoryFindings?) {
        let now = found.serverTime
        fields.add("key", found.key.escaped)
        fields.add("a read", verdict.text, verdict.tint)
        guard let entry = found.entry else {
            fields.add("in Redis", "no")
            add(found, verdict, memory)
            return
        }
        switch entry.content {
        case .otherType(let type):
            let name = PrintableText.escape(Array(type.utf8))
            fields.add("in Redis", "a value of the Redis type \(name), not an envelope")
        case .envelope(let envelope):
            fields.add(
                "in Redis",
                "\(Quantity.text(envelope.size, "byte")), for another \(TimeSpan.text(entry.timeToLive))"
            )
            fields.add("state", EntryLines.state(of: entry, envelope))
            if let header = envelope.header {
                fields.add("stored", Moment(header.storedAt, now: now).text)
                fields.add("fresh until", Moment(header.freshUntil, now: now).text)
                fields.add("stale until", Moment(header.staleUntil, now: now).text)
                fields.add("form", Self.form(of: envelope, header))
            }
        }
        add(found, verdict, memory)
    }

    private mutating func add(_ found: KeyExplanation, _ verdict: ReadVerdict, _ memory: MemoryFindings?) {
        for (index, line) in (memory?.lines ?? []).enumerated() { fields.add(index == 0 ? "in memory" : "", line) }
        fields.add("lease", LeaseText.lease(found.lease))
        fields.add("failure", LeaseText.failure(found.lease))
        for (index, tag) in found.tags.enumerated() {
            let name = PrintableText.escape(Array(tag.tag.utf8))
            fields.add(index == 0 ? "tags" : "", "\(name): \(Self.text(of: tag, now: found.serverTime))")
        }
        if found.tags.isEmpty { fields.add("tags", "none") }
        fields.add("cleared", Self.clear(found))
        for (index, sentence) in verdict.advice.enumerated() { fields.add(index == 0 ? "what to do" : "", sentence) }
    }

    private static func form(of envelope: EnvelopeInspection, _ header: EnvelopeHeader) -> String {
        let kind = envelope.kind.map { "\($0)" } ?? "unknown kind"
        let codec = PayloadText.codecName(header.codec) ?? "codec \(header.codec)"
        var parts = ["format \(envelope.format ?? 0)", kind, codec, "schema \(header.schema)"]
        if header.compression != 0 { parts.append("compression \(PayloadText.compressionName(header.compression))") }
        if header.protection != 0 { parts.append("protection \(PayloadText.protectionName(header.protection))") }
        return parts.joined(separator: ", ")
    }

    private static func text(of tag: KeyExplanation.Tag, now: Int64) -> String {
        guard tag.number > 0 else { return "not invalidated" }
        let moment = Moment(KeyExplanation.moment(of: tag.number), now: now).text
        return "invalidated \(moment), \(tag.isVoiding ? "after" : "before") the fetch"
    }

    private static func clear(_ found: KeyExplanation) -> String {
        guard let marks = found.marks else {
            return "not known: the keyspace has no numbers of invalidations, or has lost them"
        }
        // The numbers begin with a clear.
        return "last, or used first, \(Moment(KeyExplanation.moment(of: marks.clear), now: found.serverTime).text)"
    }
}
