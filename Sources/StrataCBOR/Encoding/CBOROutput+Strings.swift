/// Strings and keys, copied in words where a call for a dozen bytes would cost more than the copy.
extension CBOROutput {
    /// Writes bytes as they are.
    @inline(__always)
    mutating func raw(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        reserve(bytes.count &+ CBOROutput.slack)
        unsafe CBOROutput.copyExactly(start, to: base + count, count: bytes.count)
        count &+= bytes.count
    }

    /// Writes a text string.
    @inline(__always)
    mutating func text(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            head(CBORMajor.text, UInt64(truncatingIfNeeded: utf8.count))
            unsafe raw(UnsafeRawBufferPointer(utf8))
        }
    }

    /// Writes a text key of less than 24 bytes, whose first eight bytes with the head are known as a number.
    @inline(__always)
    mutating func shortKey(_ prefix: UInt64, _ text: UnsafeRawPointer, count length: Int) {
        reserve(24 &+ CBOROutput.slack)
        let target = unsafe base + count
        unsafe target.storeBytes(of: prefix.bigEndian, as: UInt64.self)
        if length > 7 {
            // Overlapping words from either end, instead of a call for a dozen bytes.
            if length > 15 {
                unsafe target.storeBytes(
                    of: text.loadUnaligned(fromByteOffset: 7, as: UInt64.self),
                    toByteOffset: 8,
                    as: UInt64.self
                )
            }
            let last = unsafe text.loadUnaligned(fromByteOffset: length &- 8, as: UInt64.self)
            unsafe target.storeBytes(of: last, toByteOffset: length &- 7, as: UInt64.self)
        }
        count &+= 1 &+ length
    }

    /// How many bytes behind their end the short copies may write.
    static let slack = 16

    /// Copies bytes in steps of a word pair, up to ``slack`` bytes too many on either side.
    @inline(__always)
    static func copy(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer, count: Int) {
        var offset = 0
        repeat {
            unsafe target.storeBytes(
                of: source.loadUnaligned(fromByteOffset: offset, as: SIMD2<UInt64>.self),
                toByteOffset: offset,
                as: SIMD2<UInt64>.self
            )
            offset &+= 16
        } while offset < count
    }

    /// Copies bytes without reading beyond them.
    @inline(__always)
    static func copyExactly(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer, count: Int) {
        if count > 16 {
            unsafe target.copyMemory(from: source, byteCount: count)
        } else if count >= 8 {
            let first = unsafe source.loadUnaligned(as: UInt64.self)
            let last = unsafe source.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            unsafe target.storeBytes(of: first, as: UInt64.self)
            unsafe target.storeBytes(of: last, toByteOffset: count &- 8, as: UInt64.self)
        } else {
            unsafe target.storeBytes(of: CBORKeyPrefix.firstBytes(source, count: count).bigEndian, as: UInt64.self)
        }
    }
}
