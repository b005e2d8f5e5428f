/// An entry as it lies in a file of hibernated entries.
///
/// Times are spans from the moment at which the file was begun, so that no clock is needed to read them.
struct HibernationRecord: Sendable, Hashable {
    /// Longer records are not written, and not read.
    static let longest = 16 << 20
    /// The bytes before the key.
    static let headSize = 62
    /// The bytes before the body: its length and its checksum.
    static let frameSize = 12
    /// In the place of a length: the end of the file, which has as many bytes as a frame and a number.
    static let endMark = UInt32.max
    static let endSize = 20

    var isAbsence: Bool
    /// How often the key was read of late, up to 15.
    var frequency: UInt8
    var version: EntryVersion
    /// Nanoseconds until the entry is no longer fresh, is no longer served while it is fetched anew, and is of no more
    /// use; negative where that has passed, `Int64.max` where it never does.
    var freshFor: Int64
    var revalidateFor: Int64
    var staleFor: Int64
    /// Nanoseconds since it was made, or came into memory where that is not known.
    var age: Int64
    /// Microseconds.
    var fetchDuration: UInt32
    var key: [UInt8]
    var tags: [String]
    var payload: [UInt8]

    /// The record with its frame; `nil` when it is too long.
    func framed(_ identity: UInt64) -> [UInt8]? {
        var labels: [UInt8] = []
        for tag in tags {
            guard let length = UInt16(exactly: tag.utf8.count) else { return nil }
            labels.append(littleEndian: length)
            labels += tag.utf8
        }
        let size = Self.headSize + key.count + labels.count + payload.count
        guard size <= Self.longest else { return nil }
        var body: [UInt8] = []
        body.reserveCapacity(size)
        body += [isAbsence ? 1 : 0, frequency]
        body += version.bytes
        for span in [freshFor, revalidateFor, staleFor, age] { body.append(littleEndian: span) }
        body.append(littleEndian: fetchDuration)
        body.append(littleEndian: UInt32(truncatingIfNeeded: key.count))
        body.append(littleEndian: UInt32(truncatingIfNeeded: labels.count))
        body += key
        body += labels
        body += payload
        var framed: [UInt8] = []
        framed.reserveCapacity(Self.frameSize + size)
        framed.append(littleEndian: UInt32(truncatingIfNeeded: size))
        framed.append(littleEndian: Self.checksum(body, identity))
        return framed + body
    }

    /// The length is covered with the rest: a hash of other bytes differs.
    fileprivate static func checksum(_ body: [UInt8], _ identity: UInt64) -> UInt64 { XXH64.hash(body, seed: identity) }

    /// The end of a file with so many records.
    static func end(after count: Int, _ identity: UInt64) -> [UInt8] {
        var number: [UInt8] = []
        number.append(littleEndian: UInt64(count))
        var bytes: [UInt8] = []
        bytes.append(littleEndian: endMark)
        bytes.append(littleEndian: XXH64.hash(number, seed: identity))
        return bytes + number
    }

    /// How many records stand before an end; `nil` for bytes that are none.
    static func count(atEnd bytes: [UInt8], _ identity: UInt64) -> UInt64? {
        guard bytes.count == endSize, bytes.littleEndian(at: 0, as: UInt32.self) == endMark,
            bytes.littleEndian(at: 4, as: UInt64.self) == XXH64.hash(Array(bytes[12...]), seed: identity)
        else { return nil }
        return bytes.littleEndian(at: 12, as: UInt64.self)
    }
}

extension HibernationRecord {
    /// Reads a body; `nil` when it does not agree with its checksum, or with itself.
    init?(_ body: [UInt8], checksum: UInt64, _ identity: UInt64) {
        guard body.count >= Self.headSize, Self.checksum(body, identity) == checksum, body[0] <= 1,
            let version = EntryVersion(bytes: Array(body[2..<18]))
        else { return nil }
        let keyLength = Int(body.littleEndian(at: 54, as: UInt32.self))
        let tagsLength = Int(body.littleEndian(at: 58, as: UInt32.self))
        guard keyLength + tagsLength <= body.count - Self.headSize,
            let tags = Self.tags(body[(Self.headSize + keyLength)...].prefix(tagsLength))
        else { return nil }
        isAbsence = body[0] == 1
        frequency = body[1]
        self.version = version
        freshFor = body.littleEndian(at: 18, as: Int64.self)
        revalidateFor = body.littleEndian(at: 26, as: Int64.self)
        staleFor = body.littleEndian(at: 34, as: Int64.self)
        age = body.littleEndian(at: 42, as: Int64.self)
        fetchDuration = body.littleEndian(at: 50, as: UInt32.self)
        key = Array(body[Self.headSize...].prefix(keyLength))
        self.tags = tags
        payload = Array(body[(Self.headSize + keyLength + tagsLength)...])
    }

    private static func tags(_ labels: ArraySlice<UInt8>) -> [String]? {
        var tags: [String] = []
        var rest = labels
        while !rest.isEmpty {
            guard rest.count >= 2 else { return nil }
            let length = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            rest = rest.dropFirst(2)
            guard length <= rest.count, let tag = String(validating: rest.prefix(length), as: UTF8.self) else {
                return nil
            }
            tags.append(tag)
            rest = rest.dropFirst(length)
        }
        return tags
    }
}

extension HibernationRecord {
    /// An entry in memory.
    ///
    /// - Parameters:
    ///   - key: The bytes of its key.
    ///   - glimpse: The entry.
    ///   - payload: The bytes of its value, or of its absence.
    ///   - now: When the file was begun.
    init(_ key: [UInt8], _ glimpse: MemoryGlimpse<some Sendable>, payload: [UInt8], at now: MonotonicInstant) {
        let entry = glimpse.entry
        func span(_ instant: MonotonicInstant) -> Int64 {
            instant == .distantFuture ? .max : now.nanoseconds(to: instant)
        }
        self.init(
            isAbsence: entry.value == nil,
            frequency: UInt8(clamping: glimpse.frequency),
            version: entry.version,
            freshFor: span(entry.freshUntil),
            revalidateFor: span(entry.revalidateUntil),
            staleFor: span(entry.staleUntil),
            age: entry.age(at: now).map { $0.saturatedNanoseconds } ?? glimpse.mostAge.saturatedNanoseconds,
            fetchDuration: UInt32(clamping: entry.fetchDuration.saturatedNanoseconds / 1_000),
            key: key,
            tags: entry.tags,
            payload: payload
        )
    }
}
