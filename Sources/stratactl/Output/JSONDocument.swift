#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Results as one JSON document.
enum JSONDocument {
    /// Prints a result with sorted names, so that equal results are equal texts.
    static func print(_ result: some Encodable) throws {
        StandardOutput.bytes(Array((try text(of: result) + "\n").utf8))
    }

    static func text(of result: some Encodable) throws -> String {
        try text(of: result, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    }

    /// A result in one line, for a document that is put together from many.
    static func line(of result: some Encodable) throws -> String {
        try text(of: result, [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func text(of result: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        return ControlCharacters.escapedJSON(String(decoding: try encoder.encode(result), as: UTF8.self))
    }
}

/// Bytes in JSON: a string where they are UTF-8, otherwise an object with the one member `hex`.
struct JSONBytes: Encodable {
    private enum CodingKeys: CodingKey { case hex }

    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func encode(to encoder: any Encoder) throws {
        if let text = String(validating: bytes, as: UTF8.self) {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        } else {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(Hexadecimal.text(bytes), forKey: .hex)
        }
    }
}
