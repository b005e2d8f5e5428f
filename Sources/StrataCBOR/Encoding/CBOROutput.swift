/// The bytes of a document that is being written, in one growing block.
///
/// The owner calls ``release()`` at the end.
@safe
struct CBOROutput {
    private(set) var base: UnsafeMutableRawPointer
    /// How many bytes have been written.
    ///
    /// Code that writes past it through ``base`` has reserved room before.
    var count = 0
    /// The size of the block; zero while there is none.
    private var capacity: Int

    /// Starts with room for a number of bytes, at least one.
    init(capacity: Int) {
        unsafe base = .allocate(byteCount: capacity, alignment: 8)
        self.capacity = capacity
    }

    /// Starts without memory.
    init() {
        // Nothing is read through this address: the first write takes memory.
        unsafe base = UnsafeMutableRawPointer(bitPattern: 8).unsafelyUnwrapped
        capacity = 0
    }

    /// Makes room for a number of bytes.
    @inline(__always)
    mutating func reserve(_ added: Int) {
        if capacity &- count < added { grow(added) }
    }

    @inline(never)
    private mutating func grow(_ added: Int) {
        let newCapacity = max(capacity * 2, count + added, 64)
        let newBase = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 8)
        unsafe newBase.copyMemory(from: base, byteCount: count)
        if capacity > 0 { unsafe base.deallocate() }
        unsafe base = newBase
        capacity = newCapacity
    }

    /// Gives memory back and leaves the output empty and usable.
    mutating func release() {
        if capacity > 0 { unsafe base.deallocate() }
        // Nothing is read through the old address again: with no capacity the next write takes new memory.
        count = 0
        capacity = 0
    }

    /// Drops all bytes from an offset on.
    @inline(__always)
    mutating func truncate(to newCount: Int) {
        count = newCount
    }

    /// Writes one byte.
    @inline(__always)
    mutating func byte(_ value: UInt8) {
        reserve(1)
        unsafe base.storeBytes(of: value, toByteOffset: count, as: UInt8.self)
        count &+= 1
    }

    /// Writes an initial byte and a big-endian number behind it.
    @inline(__always)
    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ initial: UInt8, _ value: Number) {
        reserve(1 + MemoryLayout<Number>.size)
        unsafe base.storeBytes(of: initial, toByteOffset: count, as: UInt8.self)
        unsafe base.storeBytes(of: value.bigEndian, toByteOffset: count &+ 1, as: Number.self)
        count &+= 1 &+ MemoryLayout<Number>.size
    }

    /// Writes the shortest head of a major type and its argument (RFC 8949 §4.2.1).
    @inline(__always)
    mutating func head(_ major: UInt8, _ value: UInt64) {
        if value < 24 {
            byte(major | UInt8(truncatingIfNeeded: value))
        } else {
            longHead(major, value)
        }
    }

    private mutating func longHead(_ major: UInt8, _ value: UInt64) {
        if value <= 0xFF {
            number(major | 24, UInt8(truncatingIfNeeded: value))
        } else if value <= 0xFFFF {
            number(major | 25, UInt16(truncatingIfNeeded: value))
        } else if value <= 0xFFFF_FFFF {
            number(major | 26, UInt32(truncatingIfNeeded: value))
        } else {
            number(major | 27, value)
        }
    }

    /// Turns the byte reserved at an offset into the head of what follows it, moving that where the head is longer.
    ///
    /// O(1) below 24 elements, else O(n) in the bytes that follow.
    mutating func patchHead(at start: Int, _ major: UInt8, _ value: UInt64) {
        let added = CBORHead.length(for: value) - 1
        if added > 0 {
            reserve(added)
            unsafe (base + start + 1 + added).copyMemory(from: base + start + 1, byteCount: count - start - 1)
        }
        let end = count + added
        count = start
        head(major, value)
        count = end
    }

    /// Moves the bytes between two offsets towards the end, into room that was reserved.
    mutating func move(from start: Int, upTo end: Int, by distance: Int) {
        unsafe (base + start + distance).copyMemory(from: base + start, byteCount: end - start)
    }

    /// Writes another output's bytes at an offset, into room that was reserved.
    mutating func write(_ other: CBOROutput, at offset: Int) {
        unsafe (base + offset).copyMemory(from: other.base, byteCount: other.count)
    }

    /// The bytes as an array.
    func array() -> [UInt8] {
        unsafe [UInt8](UnsafeRawBufferPointer(start: base, count: count))
    }

    /// Appends the bytes to an array.
    func append(to bytes: inout [UInt8]) {
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(start: base, count: count))
    }
}
