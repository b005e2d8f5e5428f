extension CBORValue {
    /// Writes the value as a document with deterministic encoding (RFC 8949 §4.2.1).
    ///
    /// - Returns: The document.
    /// - Throws: ``CBORError`` if the value is nested deeper than 512 levels, holds a key twice, or a simple value from
    ///   24 to 31, which has no encoding.
    package func encoded() throws -> [UInt8] {
        var output = CBOROutput()
        defer { output.release() }
        try write(to: &output, level: 0)
        return output.array()
    }

    private func write(to output: inout CBOROutput, level: Int) throws {
        guard level <= CBORLimits.usableDepth(.max) else {
            throw CBORError(.tooDeep, at: output.count, "The value is nested too deep.")
        }
        switch self {
        case .unsigned(let number): output.head(CBORMajor.unsigned, number)
        case .negative(let number): output.head(CBORMajor.negative, number)
        case .bytes(let bytes):
            output.head(CBORMajor.bytes, UInt64(bytes.count))
            unsafe bytes.withUnsafeBytes { unsafe output.raw($0) }
        case .text(let text): output.text(text)
        case .array(let elements):
            output.head(CBORMajor.array, UInt64(elements.count))
            for element in elements { try element.write(to: &output, level: level + 1) }
        case .map(let pairs): try CBORValue.write(pairs, to: &output, level: level)
        case .tagged(let tag, let content):
            output.head(CBORMajor.tag, tag)
            try content.write(to: &output, level: level + 1)
        case .bool(let value): output.byte(value ? CBORByte.true : CBORByte.false)
        case .null: output.byte(CBORByte.null)
        case .undefined: output.byte(CBORByte.undefined)
        case .simple(let number):
            guard !(24..<32).contains(number) else {
                throw CBORError(.malformed, at: output.count, "There is no simple value from 24 to 31.")
            }
            output.head(CBORMajor.simple, UInt64(number))
        case .float(let number): output.double(number)
        }
    }

    private static func write(_ pairs: [Pair], to output: inout CBOROutput, level: Int) throws {
        var encoded: [(key: [UInt8], value: CBORValue)] = []
        for pair in pairs {
            var key = CBOROutput()
            defer { key.release() }
            try pair.key.write(to: &key, level: level + 1)
            encoded.append((key.array(), pair.value))
        }
        encoded.sort { $0.key.lexicographicallyPrecedes($1.key) }
        output.head(CBORMajor.map, UInt64(pairs.count))
        for (index, pair) in encoded.enumerated() {
            guard index == 0 || encoded[index - 1].key != pair.key else {
                throw CBORError(.duplicateKey, at: output.count, "A map holds a key twice.")
            }
            unsafe pair.key.withUnsafeBytes { unsafe output.raw($0) }
            try pair.value.write(to: &output, level: level + 1)
        }
    }
}
