import StrataRedis

/// What was found under a key, as lines for a person.
struct EntryLines {
    private(set) var fields = FieldList()
    /// The value; empty when it is hidden.
    private(set) var value: [String] = []

    /// Lays out a finding.
    ///
    /// - Parameters:
    ///   - entry: What was found.
    ///   - valueLimit: How many bytes of the value to show; `nil` hides it.
    init(_ entry: EntryInspection, valueLimit: Int?) {
        fields.add("key", entry.key.escaped)
        fields.add("name", PrintableText.escape(entry.key.name.bytes))
        fields.add("time left", TimeSpan.text(entry.timeToLive))
        switch entry.content {
        case .otherType(let type):
            let name = PrintableText.escape(Array(type.utf8))
            fields.add("state", "unusable: not an envelope, but a value of the Redis type \(name)")
        case .envelope(let envelope):
            fields.add("state", Self.state(of: entry, envelope))
            Self.add(envelope, now: entry.serverTime, to: &fields)
            if let valueLimit { value = Self.value(of: envelope, limit: valueLimit) }
        }
    }

    static func state(of entry: EntryInspection, _ envelope: EnvelopeInspection) -> String {
        if let fault = envelope.fault { return "unusable: \(fault.explanation)" }
        guard let invalidation = entry.invalidation else { return entry.state.rawValue }
        return "void: \(Self.explanation(of: invalidation))"
    }

    static func explanation(of invalidation: EntryInspection.Invalidation) -> String {
        switch invalidation {
        case .cleared: return "the keyspace was cleared since it was fetched"
        case .tags(let tags):
            let names = tags.map { PrintableText.escape(Array($0.utf8)) }.joined(separator: " ")
            return "invalidated since it was fetched, by \(tags.count == 1 ? "tag" : "tags") \(names)"
        case .unknownNumber: return "the keyspace's count of invalidations began again after it was fetched"
        case .marksLost: return "the keyspace has lost count of its invalidations"
        }
    }

    private static func add(_ envelope: EnvelopeInspection, now: Int64, to fields: inout FieldList) {
        fields.add("size", Quantity.text(envelope.size, "byte"))
        fields.add("format", envelope.format.map { "\($0)\(envelope.header == nil ? " (not read)" : "")" } ?? "none")
        guard let header = envelope.header else { return }
        fields.add("kind", envelope.kind.map { "\($0)" } ?? "unknown (\(header.kind))")
        fields.add("codec", "\(header.codec) (\(PayloadText.codecName(header.codec) ?? "unknown here"))")
        fields.add("compression", PayloadText.compressionName(header.compression))
        fields.add("protection", header.protection == 0 ? nil : PayloadText.protectionName(header.protection))
        fields.add("schema", String(header.schema))
        fields.add("version", envelope.version)
        fields.add("stored", Moment(header.storedAt, now: now).text)
        fields.add("fresh until", Moment(header.freshUntil, now: now).text)
        fields.add("stale until", Moment(header.staleUntil, now: now).text)
        let age = -Moment(header.storedAt, now: now).relativeSeconds
        // The writer knows the server's clock to within half a round trip.
        fields.add("age", age < -1 ? "none: stored in the future" : TimeSpan.text(seconds: age))
        fields.add("fetch took", TimeSpan.text(seconds: Double(header.fetchDuration) / 1_000_000))
        fields.add("as of", header.asOf == 0 ? nil : String(header.asOf))
        let tags = envelope.tags.map { PrintableText.escape(Array($0.utf8)) }
        fields.add("tags", tags.isEmpty ? "none" : tags.joined(separator: " "))
        fields.add("payload", Quantity.text(Int(header.payloadLength), "byte"))
        fields.add("key hash", envelope.belongsToKey == true ? "matches" : "that of another key")
        fields.add("checksum", checksum(envelope.checksum))
    }

    private static func checksum(_ checksum: EnvelopeInspection.Checksum) -> String {
        switch checksum {
        case .matches: "matches"
        case .differs: "differs"
        case .notChecked: "not checked"
        }
    }

    private static func value(of envelope: EnvelopeInspection, limit: Int) -> [String] {
        let shown = Array(envelope.payload.prefix(limit))
        let isPlain = envelope.header.map { $0.compression == 0 && $0.protection == 0 } ?? false
        let lines = PayloadText.lines(shown, codec: isPlain ? envelope.header?.codec : nil)
        let total = envelope.header.map { Int($0.payloadLength) } ?? envelope.size
        // Indented, so that no value can pass for a field.
        var block = [envelope.header == nil ? "bytes" : "value"] + lines.map { "  " + $0 }
        if shown.count < total { block.append("(\(shown.count) of \(total) bytes; --max-bytes sets how many)") }
        return block
    }
}
