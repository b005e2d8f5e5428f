/// One of the sixteen parts of a keyspace in a cluster: those of its keys that lie in 1 024 neighbouring slots.
///
/// Each part is what a whole keyspace is on a single server: it has marks of its own, numbers of its own, and is
/// trusted by itself. So what a value is judged by depends on its name alone and never on where its slot lies at the
/// moment.
struct KeyspacePart: Sendable, Hashable {
    /// How many parts there are; the same for all instances, for ever.
    static let count = 16
    /// All of them.
    static let all = (0..<count).map { KeyspacePart(number: $0) }

    let number: Int

    private init(number: Int) { self.number = number }

    /// The part of a key.
    init(ofName name: [UInt8]) { number = Int(HashSlot.of(name)) / Self.width }

    private static let width = HashSlot.count / count

    /// Its slots.
    var slots: Range<Int> { number * Self.width..<(number + 1) * Self.width }

    /// What stands between the braces in the name of its marks: the least number whose slot is in the part.
    var marksTag: [UInt8] { Self.tags[number] }

    private static let tags: [[UInt8]] = all.map { part in
        var number = 0
        while !part.slots.contains(Int(HashSlot.of(Array(String(number).utf8)))) { number += 1 }
        return Array(String(number).utf8)
    }
}

extension Keyspace {
    /// The hash of the numbers of invalidations, of a part or of all.
    func marks(of part: KeyspacePart?) -> [UInt8] {
        guard let part else { return marks }
        return marks + Array(":{".utf8) + part.marksTag + [UInt8(ascii: "}")]
    }

    /// The channel on which invalidations by tag and by clear are told, of a part or of all.
    func channel(of part: KeyspacePart?) -> [UInt8] {
        guard let part else { return events }
        return events + Array(":\(part.number)".utf8)
    }

    /// The part whose marks have this name; the outer `nil` for no marks, the inner for those of the whole keyspace.
    func part(ofMarks name: [UInt8]) -> KeyspacePart?? {
        if name == marks { return .some(nil) }
        guard name.starts(with: marks), let part = KeyspacePart.all.first(where: { name == marks(of: $0) }) else {
            return nil
        }
        return part
    }

    /// The part whose channel this is, as ``part(ofMarks:)`` tells it.
    func part(ofChannel name: [UInt8]) -> KeyspacePart?? {
        if name == events { return .some(nil) }
        guard name.starts(with: events), let part = KeyspacePart.all.first(where: { name == channel(of: $0) }) else {
            return nil
        }
        return part
    }

    /// The names under which a user's key lies in Redis.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - isDivided: Whether the keyspace has parts, as it has in a cluster.
    /// - Returns: The names.
    func names(for key: [UInt8], isDivided: Bool) -> KeyNames {
        guard isDivided else { return names(for: key) }
        let names = names(for: key)
        return KeyNames(value: names.value, lease: names.lease, part: KeyspacePart(ofName: names.value.bytes))
    }
}
