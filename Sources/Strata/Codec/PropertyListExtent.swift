/// How much a binary property list stands for, found without decoding it.
///
/// The form: `bplist00`, objects, a table of their offsets, and a trailer of 32 bytes. Arrays, sets and dictionaries
/// refer to objects by number; see `CFBinaryPList.c` of CoreFoundation. Every step is bounded by the number of bytes.
struct PropertyListExtent {
    private static let magic = Array("bplist00".utf8)
    private static let trailerLength = 32
    private static let deepest = 512

    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let top: Int
    private let table: Int

    /// Refuses a list that would take more than its bytes account for.
    ///
    /// - Throws: ``CacheError/Code/codec``.
    static func check(_ bytes: [UInt8]) throws {
        guard let list = PropertyListExtent(bytes), list.isBounded() else {
            throw CacheError(code: .codec, message: "not a binary property list, or one that expands to too much")
        }
    }

    private init?(_ bytes: [UInt8]) {
        guard bytes.count > Self.magic.count + Self.trailerLength, bytes.starts(with: Self.magic) else { return nil }
        self.bytes = bytes
        let trailer = bytes.count - Self.trailerLength
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Self.number(bytes, trailer + 8, 8, upTo: trailer),
            let top = Self.number(bytes, trailer + 16, 8, upTo: trailer),
            let table = Self.number(bytes, trailer + 24, 8, upTo: trailer),
            table >= Self.magic.count, count > 0, top < count, count <= (trailer - table) / offsetSize
        else { return nil }
        (self.count, self.top, self.table) = (count, top, table)
    }

    /// Walks through the list as a decoder does, again for each reference.
    private func isBounded() -> Bool {
        var values = bytes.count
        var content = max(16 << 20, 64 * bytes.count)
        // Where the references of a container lie, and how many are left.
        var open: [(position: Int, left: Int)] = []
        var next = top
        while true {
            guard values > 0, let object = object(next) else { return false }
            values -= 1
            content -= object.content
            guard content >= 0 else { return false }
            if object.references > 0 {
                guard open.count < Self.deepest, object.references <= values else { return false }
                open.append((object.position, object.references))
            }
            while let last = open.last, last.left == 0 { open.removeLast() }
            guard let last = open.last else { return true }
            guard let reference = Self.number(bytes, last.position, referenceSize, upTo: count - 1) else {
                return false
            }
            open[open.count - 1] = (last.position + referenceSize, last.left - 1)
            next = reference
        }
    }

    /// What an object is made of: bytes of its own, or references that begin somewhere; `nil` when it does not fit.
    private func object(_ number: Int) -> (content: Int, position: Int, references: Int)? {
        guard let offset = Self.number(bytes, table + number * offsetSize, offsetSize, upTo: table - 1),
            offset >= Self.magic.count
        else { return nil }
        let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 0x0f))
        var (position, size) = (offset + 1, low)
        if low == 0x0f, [0x4, 0x5, 0x6, 0xa, 0xc, 0xd].contains(kind) {
            // A number of its own, as an object of that kind.
            guard position < table, bytes[position] >> 4 == 0x1, bytes[position] & 0x0f <= 3 else { return nil }
            let width = 1 << Int(bytes[position] & 0x0f)
            guard let large = Self.number(bytes, position + 1, width, upTo: table) else { return nil }
            (position, size) = (position + 1 + width, large)
        }
        let length: Int
        var references = 0
        switch kind {
        case 0x0: length = 0
        case 0x1, 0x2: length = low <= 4 ? 1 << low : table
        case 0x3: length = 8
        case 0x4, 0x5: length = size
        case 0x6: length = 2 * size
        case 0x8: length = low + 1
        case 0xa, 0xc, 0xd:
            references = kind == 0xd ? 2 * size : size
            length = references * referenceSize
        default: return nil
        }
        guard length <= table - position else { return nil }
        return (references > 0 ? 0 : length, position, references)
    }

    /// A number in big-endian order; `nil` when it lies outside of the bytes, or is too large.
    private static func number(_ bytes: [UInt8], _ position: Int, _ width: Int, upTo limit: Int) -> Int? {
        guard position >= 0, position <= bytes.count - width else { return nil }
        var number: UInt64 = 0
        for byte in bytes[position..<position + width] {
            guard number >> 56 == 0 else { return nil }
            number = number << 8 | UInt64(byte)
        }
        guard limit >= 0, number <= UInt64(limit) else { return nil }
        return Int(number)
    }
}
