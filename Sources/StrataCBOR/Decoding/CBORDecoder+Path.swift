/// A step from a map to the value of one of its keys, or from an array to one of its elements.
public struct CBORPathStep: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    enum Form: Hashable, Sendable {
        case key([UInt8])
        case index(Int)
    }

    let form: Form

    /// To the value of a text key.
    public static func key(_ name: String) -> CBORPathStep { CBORPathStep(form: .key(Array(name.utf8))) }

    /// To an element, counted from 0.
    public static func index(_ index: Int) -> CBORPathStep { CBORPathStep(form: .index(index)) }

    private init(form: Form) { self.form = form }

    /// To the value of a text key.
    public init(stringLiteral name: String) { self = .key(name) }

    /// To an element, counted from 0.
    public init(integerLiteral index: Int) { self = .index(index) }
}

extension CBORDecoder {
    /// Decodes one part of a document, and passes over the rest.
    ///
    /// ```swift
    /// let name = try CBORDecoder().select(String.self, at: "customer", "name", from: bytes)
    /// ```
    ///
    /// Nothing is made of what lies before the part, and what lies behind it is not even looked at: a fault there goes
    /// unseen, and of a key that a map holds twice the first pair counts. Keys are compared byte by byte, as
    /// ``CBOREncoder`` writes them.
    ///
    /// O(n) in the bytes up to the end of the part.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - first: The first step from the outermost item to the part.
    ///   - others: The steps behind it.
    ///   - bytes: The document.
    /// - Returns: The value; `nil` where the path leads to nothing, or to null.
    /// - Throws: ``CBORError`` for what is malformed on the way or in the part; what ``decode(_:from:)-(_,[UInt8])``
    ///   throws, with paths and offsets that begin at the part.
    public func select<Value: Decodable>(
        _ type: Value.Type,
        at first: CBORPathStep,
        _ others: CBORPathStep...,
        from bytes: [UInt8]
    ) throws -> Value? {
        try unsafe bytes.withUnsafeBytes { bytes in
            guard let place = try unsafe CBORWalk(bytes, limits).find([first] + others),
                unsafe bytes[place.lowerBound] != CBORByte.null, unsafe bytes[place.lowerBound] != CBORByte.undefined
            else { return nil }
            return try unsafe decode(type, from: UnsafeRawBufferPointer(rebasing: bytes[place]))
        }
    }
}
