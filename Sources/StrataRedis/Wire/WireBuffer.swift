/// A growing run of bytes on its way to the socket.
///
/// Owned by one place at a time; reused without freeing.
///
/// Proof of `Sendable`: the type cannot be copied, the allocation is never shared, so the holder of the value is alone
/// with it.
struct WireBuffer: ~Copyable, @unchecked Sendable {
    private(set) var count = 0
    private var capacity: Int
    private var base: UnsafeMutableRawPointer

    init(capacity: Int = 16 << 10) {
        self.capacity = max(capacity, 64)
        base = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit { base.deallocate() }

    var isEmpty: Bool { count == 0 }

    /// The bytes written so far; valid until the next change.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Forgets the content; gives the memory back when it had grown large.
    mutating func removeAll() {
        count = 0
        if capacity > 1 << 20 { self = WireBuffer() }
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// Appends `value` in decimal digits.
    @inline(__always)
    mutating func append(decimal value: Int64) {
        let length = Self.decimalLength(value)
        reserve(length)
        var rest = value.magnitude
        var position = count + length
        repeat {
            position -= 1
            let digit = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            base.storeBytes(of: digit, toByteOffset: position, as: UInt8.self)
            rest /= 10
        } while rest > 0
        if value < 0 { base.storeBytes(of: UInt8(ascii: "-"), toByteOffset: count, as: UInt8.self) }
        count += length
    }

    /// How many bytes `value` takes in decimal, its sign included.
    @inline(__always)
    static func decimalLength(_ value: Int64) -> Int {
        var length = value < 0 ? 2 : 1
        var rest = value.magnitude
        while rest >= 10 {
            rest /= 10
            length += 1
        }
        return length
    }

    @inline(__always)
    mutating func reserve(_ extra: Int) {
        if capacity - count < extra { grow(by: extra) }
    }

    private mutating func grow(by extra: Int) {
        let wanted = max(capacity * 2, count + extra)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        larger.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = larger
        capacity = wanted
    }

    /// Shortens the content to its first `newCount` bytes.
    mutating func truncate(to newCount: Int) {
        count = min(count, max(newCount, 0))
    }
}
