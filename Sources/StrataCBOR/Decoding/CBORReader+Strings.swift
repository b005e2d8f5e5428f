/// Text and byte strings.
extension CBORReader {
    /// Reads a text string.
    @inline(__always)
    func string(at place: Place) throws -> String {
        let offset = place.offset
        let length = Int(byte(offset)) &- 0x60
        // Nearly every string: the length in the initial byte or the byte behind it.
        if length >= 0 && length < 24 { return try text(offset &+ 1, length, at: place) }
        if length == 24 { return try text(offset &+ 2, Int(byte(offset &+ 1)), at: place) }
        return try otherString(at: place)
    }

    @inline(__always)
    private func text(_ offset: Int, _ length: Int, at place: Place) throws -> String {
        let bytes = unsafe UnsafeRawBufferPointer(start: base + offset, count: length)
        guard let value = unsafe CBORReader.string(bytes) else { throw invalidText(at: place) }
        return value
    }

    /// The string of UTF-8 bytes, or `nil` where they are none.
    ///
    /// `String(validating:as:)` would do the same, at the cost of three look-ups of generic metadata a call (Swift
    /// 6.3).
    @inline(never)
    private static func string(_ bytes: UnsafeRawBufferPointer) -> String? {
        let value = unsafe String(decoding: bytes, as: UTF8.self)
        if unsafe isASCII(bytes) { return value }
        // Decoding replaces what is not UTF-8: then other bytes come back.
        var copy = value
        return copy.withUTF8 { utf8 in
            guard utf8.count == bytes.count else { return false }
            for index in 0..<bytes.count where unsafe utf8[index] != bytes[index] { return false }
            return true
        } ? value : nil
    }

    @inline(__always)
    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        var offset = 0
        var bits: UInt64 = 0
        while offset &+ 8 <= bytes.count {
            unsafe bits |= start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        unsafe bits |= CBORKeyPrefix.firstBytes(start + offset, count: bytes.count &- offset)
        return bits & 0x8080_8080_8080_8080 == 0
    }

    private func otherString(at place: Place) throws -> String {
        let offset = untagged(place).offset
        let initial = byte(offset)
        guard initial & CBORMajor.mask == CBORMajor.text else { throw mismatch(String.self, at: place) }
        if initial & 0x1F != 31 {
            return try text(
                offset + CBORHead.length(initial: initial),
                Int(truncatingIfNeeded: argument(offset)),
                at: place
            )
        }
        // RFC 8949 §3.2.3: each chunk has to be valid text of its own.
        var value = ""
        var isValid = true
        unsafe forEachChunk(offset) { chunk in
            guard let part = unsafe CBORReader.string(chunk) else {
                isValid = false
                return
            }
            value += part
        }
        guard isValid else { throw invalidText(at: place) }
        return value
    }

    /// Reads a byte string, or an array of numbers below 256.
    func bytes(at place: Place, for type: any Any.Type) throws -> [UInt8] {
        let inner = untagged(place)
        switch major(inner.offset) {
        case CBORMajor.bytes:
            var result: [UInt8] = []
            unsafe forEachChunk(inner.offset) { unsafe result.append(contentsOf: $0) }
            return result
        case CBORMajor.array:
            return try array(at: place) { try $0.integer(UInt8.self, at: $1) }
        default:
            throw mismatch(type, at: place)
        }
    }

    /// Calls a closure with the content of a string, chunk by chunk.
    @inline(__always)
    func forEachChunk(_ offset: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        var offset = offset
        let isIndefinite = byte(offset) & 0x1F == 31
        if isIndefinite { offset &+= 1 }
        repeat {
            let initial = byte(offset)
            if initial == CBORByte.break { return }
            let start = offset &+ CBORHead.length(initial: initial)
            let length = Int(truncatingIfNeeded: argument(offset))
            unsafe body(UnsafeRawBufferPointer(start: base + start, count: length))
            offset = start &+ length
        } while isIndefinite
    }
}
