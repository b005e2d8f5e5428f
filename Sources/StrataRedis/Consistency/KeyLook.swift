internal import Strata

/// What Redis holds of a key, without the value.
struct KeyLook: Sendable {
    enum Held: Sendable, Hashable {
        case nothing
        case entry(EntryVersion)
        /// Bytes or another type that no level takes for an entry.
        case other
    }

    var held: Held
    /// Whether the entry is void by the keyspace's numbers.
    var isVoid = false
    var tags: [TagName] = []

    /// The stamp of the entry; ``EntryVersion/none`` if there is none.
    var version: EntryVersion { if case .entry(let version) = held { version } else { .none } }
}

extension KeyspaceInspector {
    /// What Redis holds of a key: its header and tags, and the numbers by which it is judged.
    ///
    /// Two round trips; three for an entry with long tags.
    ///
    /// - Throws: ``RedisError``; `CancellationError`.
    func look(at key: InspectedKey) async throws -> KeyLook {
        do {
            var bytes = try await redis.getRange(key.name, from: 0, through: 1023)
            guard !bytes.isEmpty else { return KeyLook(held: .nothing) }
            guard bytes.starts(with: Envelope.magic), bytes.count > 3, bytes[3] == Envelope.formatVersion,
                let header = EnvelopeHeader(bytes), header.keyHash == key.names.keyHash
            else { return KeyLook(held: .other) }
            let version = EntryVersion(high: header.versionHigh, low: header.versionLow)
            let end = Envelope.headerSize + Int(header.tagsLength)
            if bytes.count < end {
                bytes = try await redis.getRange(key.name, from: 0, through: end - 1)
                // Another one was written meanwhile: the look after the answers shows it.
                guard Envelope.version(inStamp: Array(bytes.dropFirst(20).prefix(16))) == version else {
                    return KeyLook(held: .other)
                }
            }
            let labels = Array(bytes.dropFirst(Envelope.headerSize).prefix(Int(header.tagsLength)))
            let tags = ((try? Envelope.tags(labels)) ?? []).map { TagName($0) }
            let numbers = try await redis.tagNumbers(of: tags, in: keyspace, part(of: key))
            let isVoid =
                numbers.marks.map { marks in
                    header.asOf < marks.clear || tags.contains { numbers.numbers[$0] ?? 0 > header.asOf }
                } ?? false
            return KeyLook(held: .entry(version), isVoid: isVoid, tags: tags)
        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
            return KeyLook(held: .other)
        }
    }
}
