/// The form of an event in a file: four 64-bit words, in the byte order of the machine.
///
/// | word | holds |
/// |---|---|
/// | 0 | kind (bits 0–3), outcome (4–7), level (8–11), marks (12–15), instance (16–31), key (32–63); 0: nothing here |
/// | 1 | start |
/// | 2 | end, 0 while the operation is under way |
/// | 3 | version |
///
/// Word 0 is written last, so a record whose writer died half way reads as nothing.
struct HistoryRecord {
    static let wordCount = 4
    static let byteCount = 32

    var head: UInt64
    var start: UInt64
    var end: UInt64
    var version: UInt64

    /// The record of an event; the instance's number is cut to 16 bits.
    init(_ event: HistoryEvent) {
        head = Self.head(event.kind, event.outcome, UInt16(truncatingIfNeeded: event.instance), event.key)
        head |= UInt64(event.level.rawValue & 15) << 8 | UInt64(event.marks.rawValue & 15) << 12
        start = event.start
        end = event.end
        version = event.version
    }

    init(head: UInt64, start: UInt64, end: UInt64, version: UInt64) {
        self.head = head
        self.start = start
        self.end = end
        self.version = version
    }

    static func head(
        _ kind: HistoryEvent.Kind,
        _ outcome: HistoryEvent.Outcome,
        _ instance: UInt16,
        _ key: UInt32
    ) -> UInt64 {
        UInt64(kind.rawValue) | UInt64(outcome.rawValue) << 4 | UInt64(instance) << 16 | UInt64(key) << 32
    }

    static func head(_ head: UInt64, withOutcome outcome: HistoryEvent.Outcome) -> UInt64 {
        head & ~0xF0 | UInt64(outcome.rawValue) << 4
    }

    /// The event, or nil if the words are none: an unknown kind, a key outside the run, an end before the start.
    func event(keyCount: Int) -> HistoryEvent? {
        guard let kind = HistoryEvent.Kind(rawValue: UInt8(head & 15)),
            let outcome = HistoryEvent.Outcome(rawValue: UInt8(head >> 4 & 15)),
            let level = ReadLevel(rawValue: UInt8(head >> 8 & 15))
        else { return nil }
        let key = UInt32(truncatingIfNeeded: head >> 32)
        switch kind {
        case .get, .write, .set, .invalidateKey, .fetch:
            guard Int(key) < keyCount else { return nil }
        case .invalidateTag, .invalidateAll, .instance, .fault: break
        }
        guard end == 0 || end >= start, start > 0 else { return nil }
        return HistoryEvent(
            kind,
            end == 0 ? .open : outcome,
            instance: UInt32(head >> 16 & 0xFFFF),
            key: key,
            start: start,
            end: end,
            version: version,
            level: level,
            marks: ReadMarks(rawValue: UInt8(head >> 12 & 15))
        )
    }
}
