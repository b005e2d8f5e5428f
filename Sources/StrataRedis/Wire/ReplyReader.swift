internal import CHiredis

/// Turns the bytes of a connection into replies: hiredis parses, this type builds the Swift values in its callbacks.
///
/// Not thread-safe; one thread owns a reader at a time. After an error the reader is finished.
package final class ReplyReader {
    /// Why a stream of replies cannot be read on.
    package struct Violation: Error, Equatable {
        package var message: String
    }

    /// hiredis moves all unread bytes down after each KiB it has parsed, so a large feed costs its square: 8 MiB of 1
    /// KiB replies took 1.6 s in one feed and 0.017 s in slices of 16 KiB (0.14.1).
    package static let sliceSize = 16 << 10

    /// A reader that has held a bulk string above this size is replaced, because hiredis keeps its buffer.
    private static let keptBufferSize = 1 << 20

    private let limits: ReplyLimits
    private let sink: UnsafeMutablePointer<chiredis_sink>
    private var reader: UnsafeMutableRawPointer
    private var builder = ReplyBuilder()
    private var largestBulk = 0
    /// Bytes to come of a string that is passed over.
    private var passingOver = 0
    private var failure: Violation?

    /// - Parameters:
    ///   - limits: What any reply may cost.
    ///   - allowance: Whether a reply may be larger than ``ReplyLimits/ordinary``, by how many this call of
    ///     ``read(_:into:)`` has brought before it. Asked once for a reply that is.
    init(limits: ReplyLimits, allowance: @escaping (Int) -> Bool) {
        self.limits = limits
        sink = .allocate(capacity: 1)
        guard let reader = Self.make(sink) else { fatalError("out of memory") }
        self.reader = reader
        builder.limits = limits
        builder.allowance = allowance
        sink.initialize(to: Self.callbacks(owner: Unmanaged.passUnretained(self).toOpaque()))
    }

    package convenience init(limits: ReplyLimits = ReplyLimits()) {
        self.init(limits: limits) { _ in true }
    }

    deinit {
        chiredis_reader_free(reader)
        sink.deinitialize(count: 1)
        sink.deallocate()
    }

    /// Parses `bytes` and appends every reply that is now whole to `replies`.
    ///
    /// - Throws: ``Violation`` when the stream breaks the protocol or a limit; replies before the fault are delivered.
    package func read(_ bytes: UnsafeRawBufferPointer, into replies: inout [RESPValue]) throws(Violation) {
        if let failure { throw failure }
        var offset = 0
        builder.completed = 0
        while offset < bytes.count {
            if passingOver > 0 {
                let passed = min(passingOver, bytes.count - offset)
                try checkEnd(of: bytes[offset..<(offset + passed)])
                passingOver -= passed
                offset += passed
                continue
            }
            let length = min(Self.sliceSize, bytes.count - offset)
            let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + length)])
            offset += length
            try readSlice(slice, into: &replies)
        }
    }

    /// Looks whether a string that is passed over ends where it says: its last two bytes are a line end.
    private func checkEnd(of passed: Slice<UnsafeRawBufferPointer>) throws(Violation) {
        for (place, expected) in [(passingOver - 2, UInt8(ascii: "\r")), (passingOver - 1, UInt8(ascii: "\n"))]
        where passed.indices.contains(passed.startIndex + place) && place >= 0 {
            guard passed[passed.startIndex + place] == expected else {
                throw fail("a bulk string does not end where it says")
            }
        }
    }

    private func readSlice(_ slice: UnsafeRawBufferPointer, into replies: inout [RESPValue]) throws(Violation) {
        guard let base = slice.baseAddress else { return }
        guard chiredis_reader_feed(reader, base, slice.count) == 0 else {
            throw fail("the parser is out of memory")
        }
        while true {
            switch chiredis_reader_next(reader) {
            case 1:
                guard let reply = builder.takeReply() else { throw fail("a reply ended before its elements") }
                replies.append(reply)
            case 0:
                if try checkPending() { continue }
                replaceGrownReader()
                return
            default:
                throw fail(builder.refusal ?? parserMessage)
            }
        }
    }

    private var parserMessage: String {
        guard sink.pointee.foreign == 0 else { return "a reply has a type of RESP3, which was not asked for" }
        guard sink.pointee.unterminated == 0 else { return "a bulk string does not end where it says" }
        return String(cString: chiredis_reader_error(reader))
    }

    /// Looks at the element that waits for more bytes, so that one that is too long is dealt with now and not when it
    /// is here.
    ///
    /// - Returns: Whether there is something to parse again: the beginning of a string that is passed over from here.
    private func checkPending() throws(Violation) -> Bool {
        let announced = chiredis_reader_pending_bulk(reader)
        guard announced >= 0 else {
            // Its last byte may be the first of the line end.
            guard chiredis_reader_unread(reader) - 1 > limits.lineLength else { return false }
            throw fail("a line is longer than the limit of \(limits.lineLength) bytes")
        }
        guard announced <= max(ReplyLimits.longestString, limits.bulkLength) else {
            throw fail("a bulk string is longer than any that Redis sends")
        }
        let count = Int(announced)
        guard builder.isAllowed(bytes: count) else { throw fail(ReplyBuilder.tooLargeForCommand) }
        guard count > limits.bulkLength || !builder.hasRoom(for: count) else {
            largestBulk = max(largestBulk, count)
            return false
        }
        let missing = chiredis_reader_cut_bulk(reader)
        guard missing >= 0 else { return false }
        builder.passedOver = count
        passingOver = Int(missing)
        return true
    }

    /// Starts over with a small buffer once a large reply has gone through and nothing of the next one is here.
    private func replaceGrownReader() {
        guard largestBulk > Self.keptBufferSize, chiredis_reader_at_boundary(reader) != 0 else { return }
        guard let fresh = Self.make(sink) else { return }
        chiredis_reader_free(reader)
        reader = fresh
        largestBulk = 0
    }

    private func fail(_ message: String) -> Violation {
        let violation = Violation(message: message)
        failure = violation
        return violation
    }

    private static func make(_ sink: UnsafeMutablePointer<chiredis_sink>) -> UnsafeMutableRawPointer? {
        chiredis_reader_create(sink)
    }

    private static func callbacks(owner: UnsafeMutableRawPointer) -> chiredis_sink {
        // Each callback runs inside `read`, on the thread that owns the reader; `owner` is the reader itself.
        chiredis_sink(
            owner: owner,
            bytes: { owner, kind, data, length in
                let bytes = UnsafeRawBufferPointer(start: data, count: length)
                return ReplyReader.from(owner).builder.append(bytes, kind: kind)
            },
            array: { owner, count in ReplyReader.from(owner).builder.beginArray(count) },
            integer: { owner, value in ReplyReader.from(owner).builder.append(.integer(value)) },
            null: { owner in ReplyReader.from(owner).builder.append(.null) },
            foreign: 0,
            unterminated: 0
        )
    }

    private static func from(_ owner: UnsafeMutableRawPointer) -> ReplyReader {
        Unmanaged<ReplyReader>.fromOpaque(owner).takeUnretainedValue()
    }
}

extension ReplyBuilder {
    fileprivate mutating func append(_ bytes: UnsafeRawBufferPointer, kind: CInt) -> CInt {
        switch kind {
        case REDIS_REPLY_STRING: return append(bulk: bytes.count) { [UInt8](bytes) }
        case REDIS_REPLY_STATUS: return appendLine(bytes) { .status($0) }
        default: return appendLine(bytes) { .error($0) }
        }
    }

    private mutating func appendLine(_ bytes: UnsafeRawBufferPointer, _ make: (String) -> RESPValue) -> CInt {
        guard bytes.count <= limits.lineLength else {
            return refuse("a line is longer than the limit of \(limits.lineLength) bytes")
        }
        return append(line: make(String(decoding: bytes, as: UTF8.self)), ofLength: bytes.count)
    }
}
