@testable import Strata
@testable import StrataRedis

/// What is read of names, messages and small records.
///
/// The first byte says as what the others are read.
func fuzzRecords(_ bytes: [UInt8]) {
    var input = FuzzInput(bytes)
    let kind = input.choice(10)
    let text = input.takeRest()
    switch kind {
    case 0: leaseRecord(text)
    case 1: tagEvent(text)
    case 2: number(text)
    case 3: glob(text)
    case 4: percent(text)
    case 5: name(text)
    case 6: printable(text)
    case 7: escapedKey(text)
    case 8: tagTable(text)
    default: userKey(text)
    }
}

/// What an instance tells of itself, or of a key in its memory.
private func instanceRecord(_ bytes: [UInt8]) {
    if let record = InstanceRecord(bytes) {
        require(InstanceFigures(record).requests >= 0, "a negative count")
        require(record.bytes.count <= InstanceRecord.longest, "a record that is too long")
    }
    if let hottest = HottestKeys(bytes, most: 100) {
        let again = HottestKeys(hottest.bytes, most: 100)
        require(hottest.keys.count <= 100 && again == hottest, "keys are told otherwise")
    }
    hibernated(bytes)
    if let finding = KeyFinding(bytes) { require(KeyFinding(finding.bytes) == finding, "\(finding) is told otherwise") }
}

/// What a file of a hibernated memory has: its beginning, or a record whose checksum fits.
private func hibernated(_ bytes: [UInt8]) {
    if let header = try? HibernationHeader(bytes) {
        require((try? HibernationHeader(header.bytes)) == header, "a header is told otherwise")
    }
    guard let record = HibernationRecord(bytes, checksum: XXH64.hash(bytes, seed: 1), 1) else { return }
    guard let framed = record.framed(1) else { return require(bytes.count > HibernationRecord.longest, "\(record)") }
    let body = Array(framed[HibernationRecord.frameSize...])
    require(HibernationRecord(body, checksum: XXH64.hash(body, seed: 1), 1) == record, "a record is told otherwise")
}

/// A question to instances, which comes by the channel of the other messages.
private func question(_ bytes: [UInt8]) {
    guard let (question, number) = FleetQuestion.read(bytes) else { return }
    guard let again = FleetQuestion.read(question.message(number)) else { fatalError("\(question) is not read again") }
    require(again.question == question && again.number == number, "\(question) is told otherwise")
}

private func leaseRecord(_ bytes: [UInt8]) {
    instanceRecord(bytes)
    guard let record = LeaseRecord(bytes) else { return }
    // Numbers and texts may be cut or brought into their range, but what was cut reads as itself.
    guard let again = LeaseRecord(record.bytes) else { fatalError("\(record) does not read as a record") }
    require(LeaseRecord(again.bytes) == again, "\(again) does not read as itself")
}

private func tagEvent(_ bytes: [UInt8]) {
    question(bytes)
    guard let event = TagEvent(bytes) else { return }
    require(event.before < event.number, "\(event) goes back")
    guard case .tags(let names) = event.scope else { return }
    let payload = TagEvent.payload(of: names)
    require(payload.isEmpty || bytes.suffix(payload.count).elementsEqual(payload), "\(event) is told otherwise")
}

private func number(_ bytes: [UInt8]) {
    guard let number = TagMarks.number(bytes) else { return }
    require(number <= TagMarks.highestNumber, "\(number) is above the highest")
}

private func glob(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map { Array($0) }
    guard let pattern = GlobPattern(parts[0]) else { return }
    let subject = parts.count > 1 ? parts[1] : []
    if pattern.matches(subject) {
        require(subject.starts(with: pattern.literalPrefix), "a match without the literal prefix")
    }
    guard let own = GlobPattern(RedisGlob.literal(subject)) else { fatalError("a literal is no pattern") }
    require(own.matches(subject), "a literal does not match itself")
}

private func percent(_ bytes: [UInt8]) {
    var encoded: [UInt8] = []
    PercentEncoding.append(bytes, to: &encoded) { $0 == UInt8(ascii: "%") || $0 < 0x20 }
    require(PercentEncoding.decode(encoded) == bytes, "encoded bytes are decoded to others")
    for anyCase in [false, true] { _ = PercentEncoding.decode(bytes, anyCase: anyCase) }
}

private func name(_ bytes: [UInt8]) {
    let key = RedisKey(bytes)
    if let name = KeyspaceEntryName(key), let userKey = name.userKey {
        let names = name.keyspace.names(for: userKey)
        require(key == (name.kind == .value ? names.value : names.lease), "a name of another key")
    }
    if let (base, _) = Keyspace.split(bytes), let keyspace = Keyspace(base: base) {
        guard let inspected = InspectedKey(name: key, in: keyspace) else { return }
        check(inspected, in: keyspace)
    }
}

private func check(_ key: InspectedKey, in keyspace: Keyspace) {
    guard let again = InspectedKey(escaped: key.escaped, in: keyspace) else {
        fatalError("\(key.escaped) is not read again")
    }
    require(again.name == key.name, "\(key.escaped) is read as another key")
}

private func printable(_ bytes: [UInt8]) {
    let text = PrintableText.escape(bytes)
    require(PrintableText.unescape(text) == bytes, "escaped bytes are unescaped to others")
    _ = PrintableText.unescape(String(decoding: bytes, as: UTF8.self))
}

private func escapedKey(_ bytes: [UInt8]) {
    let keyspace: Keyspace = "fuzz"
    guard let key = InspectedKey(escaped: String(decoding: bytes, as: UTF8.self), in: keyspace) else { return }
    check(key, in: keyspace)
}

private func userKey(_ bytes: [UInt8]) {
    let keyspace: Keyspace = "fuzz"
    let names = keyspace.names(for: bytes)
    guard let name = KeyspaceEntryName(names.value) else { fatalError("a keyspace's own name is none") }
    require(name.userKey == nil || name.userKey == bytes, "a name of another key")
    check(InspectedKey(bytes, in: keyspace), in: keyspace)
    _ = (TagName(String(decoding: bytes, as: UTF8.self)).fingerprint(), TagName(bytes: bytes))
}

/// What is told, answered and taken, in any order and with any numbers.
private func tagTable(_ bytes: [UInt8]) {
    var input = FuzzInput(bytes)
    var table = TagTable()
    var looks: [TagTable.Look] = []
    let names = ["a", "b", "c"].map { TagName($0) }
    while !input.isEmpty {
        let low = InvalidationNumber(input.number(5).magnitude) % (TagMarks.highestNumber + 1)
        let high = min(low + InvalidationNumber(input.byte()) + 1, TagMarks.highestNumber + 1)
        let some = names.filter { _ in input.choice(2) == 1 }
        var effects = TagTable.Effects()
        switch input.choice(8) {
        case 0: effects = table.established()
        case 1: table.lost()
        case 2: effects = table.hashChanged()
        case 3: effects = table.pong(told: low.isMultiple(of: 2) ? .distantPast : .now)
        case 4:
            let scope: TagEvent.Scope = some.isEmpty ? .everything : .tags(some)
            guard let event = TagEvent(Array("c\(low):\(high):".utf8)) else { break }
            var told = event
            told.scope = scope
            effects = table.heard(told)
        case 5:
            guard let look = looks.popLast() else { break }
            effects = table.looked(look, input.choice(4) == 0 ? nil : TagMarks(sequence: high, clear: low))
        case 6: effects = table.took(TagMarks(sequence: high, clear: low), for: some)
        default: table.learnt(some.map { ($0, low) }, askedAt: table.epoch)
        }
        if let look = effects.look { looks.append(look) }
        _ = table.verdict(asOf: low, some)
    }
}
