#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Values whose form is known here, read without a call of their `init(from:)` and without a container.
extension CBORReader {
    /// Reads a value of any type.
    ///
    /// The comparisons are of metadata addresses, a nanosecond each; the casts behind them have nothing left to check.
    func decode<Value: Decodable>(_ type: Value.Type, at place: Place) throws -> Value {
        if type == String.self { return unsafe try unsafeBitCast(string(at: place), to: type) }
        if type == Int.self { return unsafe try unsafeBitCast(integer(Int.self, at: place), to: type) }
        if type == Double.self { return unsafe try unsafeBitCast(double(at: place), to: type) }
        if type == [String].self {
            return unsafe try unsafeBitCast(array(at: place) { try $0.string(at: $1) }, to: type)
        }
        if type == [String: Int].self {
            return unsafe try unsafeBitCast(dictionary(at: place) { try $0.integer(Int.self, at: $1) }, to: type)
        }
        if type == [String: String].self {
            return unsafe try unsafeBitCast(dictionary(at: place) { try $0.string(at: $1) }, to: type)
        }
        if type == [String: Double].self {
            return unsafe try unsafeBitCast(dictionary(at: place) { try $0.double(at: $1) }, to: type)
        }
        if type == Date.self { return unsafe try unsafeBitCast(date(at: place), to: type) }
        if type == [Int].self {
            return unsafe try unsafeBitCast(array(at: place) { try $0.integer(Int.self, at: $1) }, to: type)
        }
        if type == [Double].self {
            return unsafe try unsafeBitCast(array(at: place) { try $0.double(at: $1) }, to: type)
        }
        if type == [UInt8].self { return unsafe try unsafeBitCast(bytes(at: place, for: type), to: type) }
        if type == Bool.self { return unsafe try unsafeBitCast(bool(at: place), to: type) }
        if type == Data.self { return unsafe try unsafeBitCast(Data(bytes(at: place, for: type)), to: type) }
        if type == UUID.self { return unsafe try unsafeBitCast(uuid(at: place), to: type) }
        if type == URL.self { return unsafe try unsafeBitCast(url(at: place), to: type) }
        if type == Decimal.self { return unsafe try unsafeBitCast(decimal(at: place), to: type) }
        return try type.init(from: CBORItem(reader: self, place: place))
    }

    /// Reads an array whose elements need no container.
    @inline(__always)
    func array<Element>(at place: Place, _ read: (CBORReader, Place) throws -> Element) throws -> [Element] {
        let inner = untagged(place)
        guard major(inner.offset) == CBORMajor.array else { throw mismatch([Element].self, at: place) }
        let container = unsafe containers.base[inner.container]
        var element = Place(offset: Int(container.content), container: inner.container + 1)
        var result: [Element] = []
        // The elements have been counted, not announced.
        result.reserveCapacity(Int(container.count))
        for _ in 0..<container.count {
            result.append(try read(self, element))
            element = following(element)
        }
        return result
    }

    /// Reads a dictionary whose values need no container.
    @inline(__always)
    func dictionary<Element>(
        at place: Place,
        _ read: (CBORReader, Place) throws -> Element
    ) throws -> [String: Element] {
        let inner = untagged(place)
        guard major(inner.offset) == CBORMajor.map else { throw mismatch([String: Element].self, at: place) }
        let container = unsafe containers.base[inner.container]
        var result = [String: Element](minimumCapacity: Int(container.count))
        for index in container.pairs {
            let entry = unsafe entries.base[index]
            guard let name = try name(of: entry, in: inner) else { continue }
            result[name] = try read(self, Place(offset: Int(entry.value), container: Int(entry.container)))
        }
        return result
    }

    /// The text of a key: the digits of an integer, and nothing for keys of other kinds.
    @inline(__always)
    private func name(of entry: Entry, in map: Place) throws -> String? {
        if entry.prefix >= 0x60 << 56 && entry.prefix < 0x78 << 56 && entry.key < count {
            return try string(at: Place(offset: Int(entry.key), container: map.container))
        }
        if let key = codingKey(of: entry) { return key.stringValue }
        guard entry.isText else { return nil }
        throw invalidText(at: Place(offset: Int(entry.value), container: Int(entry.container)))
    }
}
