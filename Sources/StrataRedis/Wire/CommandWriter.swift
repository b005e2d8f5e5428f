/// Writes one command as a RESP array of bulk strings straight into a connection's outgoing buffer.
///
/// It replaces the formatter of hiredis because it is simpler, saves a copy, and delimits keys and values by their
/// lengths, never by terminators.
public struct CommandWriter: ~Copyable, Sendable {
    private var buffer = WireBuffer()

    init() {}

    var count: Int { buffer.count }

    var isEmpty: Bool { buffer.isEmpty }

    /// What was written; valid until the next change.
    var bytes: UnsafeRawBufferPointer { buffer.bytes }

    mutating func truncate(to count: Int) {
        buffer.truncate(to: count)
    }

    mutating func removeAll() {
        buffer.removeAll()
    }

    /// Begins a command of `count` arguments, its name included.
    ///
    /// Exactly that many arguments must follow.
    @inline(__always)
    public mutating func begin(_ count: Int) {
        header(UInt8(ascii: "*"), count)
    }

    /// An argument that is known at compile time, such as a command's name.
    @inline(__always)
    public mutating func argument(_ text: StaticString) {
        header(UInt8(ascii: "$"), text.utf8CodeUnitCount)
        buffer.append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        endLine()
    }

    /// An argument of arbitrary bytes.
    @inline(__always)
    public mutating func argument(_ bytes: [UInt8]) {
        header(UInt8(ascii: "$"), bytes.count)
        bytes.withUnsafeBytes { buffer.append($0) }
        endLine()
    }

    /// A key.
    @inline(__always)
    public mutating func argument(_ key: RedisKey) {
        argument(key.bytes)
    }

    /// An argument of text, as UTF-8.
    public mutating func argument(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            header(UInt8(ascii: "$"), utf8.count)
            buffer.append(UnsafeRawBufferPointer(utf8))
        }
        endLine()
    }

    /// A decimal integer.
    @inline(__always)
    public mutating func argument(_ value: Int64) {
        header(UInt8(ascii: "$"), WireBuffer.decimalLength(value))
        buffer.append(decimal: value)
        endLine()
    }

    /// `$5` or `*3` with its line end.
    @inline(__always)
    private mutating func header(_ kind: UInt8, _ count: Int) {
        buffer.append(kind)
        buffer.append(decimal: Int64(count))
        endLine()
    }

    @inline(__always)
    private mutating func endLine() {
        buffer.append(UInt8(ascii: "\r"))
        buffer.append(UInt8(ascii: "\n"))
    }
}
