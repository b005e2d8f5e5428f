/// Cuts a stream of bytes into the commands of the Redis protocol, as a server reads them.
package struct CommandReader {
    // Far more than tests send, little enough that a faulty client cannot fill the memory.
    private static let bufferLimit = 64 << 20
    private static let argumentLimit = 1 << 20

    private var buffer: [UInt8] = []

    package init() {}

    package mutating func append(_ bytes: [UInt8]) {
        buffer += bytes
    }

    /// The next whole command; `nil` when more bytes must come first.
    ///
    /// Throws when no command begins like this.
    package mutating func next() throws -> [String]? {
        var position = 0
        guard let count = try number(after: UInt8(ascii: "*"), at: &position, upTo: Self.argumentLimit) else {
            return nil
        }
        var arguments: [String] = []
        for _ in 0..<count {
            guard let length = try number(after: UInt8(ascii: "$"), at: &position, upTo: Self.bufferLimit),
                buffer.count >= position + length + 2
            else { return nil }
            arguments.append(String(decoding: buffer[position..<position + length], as: UTF8.self))
            position += length + 2
        }
        buffer.removeFirst(position)
        return arguments
    }

    private func number(after mark: UInt8, at position: inout Int, upTo limit: Int) throws -> Int? {
        guard buffer.count <= Self.bufferLimit else { throw HarnessError(.malformedReply, "a command too long") }
        guard position < buffer.count else { return nil }
        guard buffer[position] == mark else { throw HarnessError(.malformedReply, "not a command of the protocol") }
        // The longest number allowed has 8 digits.
        guard let end = buffer[position...].prefix(24).firstIndex(of: 0x0a) else {
            guard buffer.count - position < 24 else { throw HarnessError(.malformedReply, "an endless number") }
            return nil
        }
        guard end > position + 1,
            let number = Int(String(decoding: buffer[(position + 1)..<(end - 1)], as: UTF8.self)),
            (0...limit).contains(number)
        else {
            throw HarnessError(.malformedReply, "a number out of range")
        }
        position = end + 1
        return number
    }
}
