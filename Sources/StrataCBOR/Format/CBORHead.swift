/// The head of an item: an initial byte and up to eight bytes of argument (RFC 8949 §3).
enum CBORHead {
    /// How many bytes the shortest head of an argument takes.
    static func length(for argument: UInt64) -> Int {
        if argument < 24 { return 1 }
        if argument <= 0xFF { return 2 }
        if argument <= 0xFFFF { return 3 }
        return argument <= 0xFFFF_FFFF ? 5 : 9
    }

    /// How many bytes the head with an initial byte takes, which is not of a reserved form.
    @inline(__always)
    static func length(initial: UInt8) -> Int {
        let info = Int(initial & 0x1F)
        return info < 24 || info == 31 ? 1 : 1 &+ (1 &<< (info &- 24))
    }

    /// The argument of the whole head that stands at an address; zero for an indefinite length.
    @inline(__always)
    static func argument(_ start: UnsafeRawPointer) -> UInt64 {
        let info = unsafe start.load(as: UInt8.self) & 0x1F
        return info < 24 ? UInt64(info) : unsafe longArgument(start, info)
    }

    private static func longArgument(_ start: UnsafeRawPointer, _ info: UInt8) -> UInt64 {
        switch info {
        case 24: unsafe UInt64(start.load(fromByteOffset: 1, as: UInt8.self))
        case 25: unsafe UInt64(UInt16(bigEndian: start.loadUnaligned(fromByteOffset: 1, as: UInt16.self)))
        case 26: unsafe UInt64(UInt32(bigEndian: start.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
        case 27: unsafe UInt64(bigEndian: start.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
        default: 0
        }
    }

    /// How many bytes the string or integer with a definite length takes that stands at an address.
    static func keyLength(_ start: UnsafeRawPointer) -> Int {
        let initial = unsafe start.load(as: UInt8.self)
        let major = initial & CBORMajor.mask
        guard major == CBORMajor.text || major == CBORMajor.bytes else { return length(initial: initial) }
        return unsafe length(initial: initial) + Int(truncatingIfNeeded: argument(start))
    }

    /// The coding key for the text or integer that stands at an address, if it is one of these, and fits or is UTF-8.
    static func codingKey(_ key: UnsafeRawBufferPointer) -> CBORKey? {
        guard let start = key.baseAddress, let initial = unsafe key.first else { return nil }
        switch initial & CBORMajor.mask {
        case CBORMajor.text:
            // Not repaired: two damaged keys could become one.
            let text = unsafe String(validating: key.dropFirst(length(initial: initial)), as: UTF8.self)
            return text.map { CBORKey(stringValue: $0) }
        case CBORMajor.unsigned, CBORMajor.negative:
            guard let magnitude = unsafe Int(exactly: argument(start)) else { return nil }
            return CBORKey(intValue: initial & CBORMajor.mask == CBORMajor.unsigned ? magnitude : ~magnitude)
        default:
            return nil
        }
    }
}
