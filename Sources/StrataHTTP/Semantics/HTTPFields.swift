/// The header fields of a response, found by name in any case.
public struct HTTPFields: Sendable, Hashable, Codable, ExpressibleByDictionaryLiteral {
    private var fields: [[String]]

    /// Fields in their order; a name may come several times.
    public init(_ fields: some Sequence<(name: String, value: String)>) {
        self.fields = fields.map { [$0.name.lowercased(), $0.value] }
    }

    /// Fields in their order.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.lazy.map { (name: $0.0, value: $0.1) })
    }

    /// The values of a field, in their order.
    public func values(of name: String) -> [String] {
        let name = name.lowercased()
        return fields.compactMap { $0.count == 2 && $0[0] == name ? $0[1] : nil }
    }

    /// The value of a field that has just one; `nil` when it comes several times with different values.
    public subscript(name: String) -> String? {
        let values = values(of: name)
        guard let first = values.first, values.allSatisfy({ $0 == first }) else { return nil }
        return first.trimmed
    }

    /// All fields in their order, names in lower case.
    public var all: [(name: String, value: String)] {
        fields.compactMap { $0.count == 2 ? (name: $0[0], value: $0[1]) : nil }
    }

    /// These fields without those of some names, which are in lower case.
    package func without(_ names: Set<String>) -> HTTPFields {
        var result = self
        result.fields.removeAll { $0.first.map(names.contains) ?? true }
        return result
    }

    /// These fields with one value in place of those of that name.
    package func with(_ name: String, _ value: String) -> HTTPFields {
        var result = without([name])
        result.fields.append([name, value])
        return result
    }

    /// These fields with those of a response to a revalidation in place of their namesakes (RFC 9111 §3.2).
    ///
    /// What belongs to the body stays: its length, encoding, type and range. The age is that of the newer response.
    func updated(by newer: HTTPFields) -> HTTPFields {
        let ofBody: Set = ["content-length", "content-encoding", "content-type", "content-range", "transfer-encoding"]
        let replaced = Set(newer.fields.compactMap(\.first)).subtracting(ofBody)
        var result = without(replaced.union(["age"]))
        result.fields += newer.fields.filter { $0.first.map(replaced.contains) ?? false }
        return result
    }
}

extension StringProtocol {
    /// Without spaces and tabs at its ends.
    var trimmed: String {
        let isSpace = { (scalar: Unicode.Scalar) in scalar == " " || scalar == "\t" }
        var rest = String(self).unicodeScalars[...]
        while let first = rest.first, isSpace(first) { rest = rest.dropFirst() }
        while let last = rest.last, isSpace(last) { rest = rest.dropLast() }
        return String(rest)
    }
}
