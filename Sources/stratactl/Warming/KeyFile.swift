import Strata
import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Keys in a file or on the standard input: one a line, with a NUL behind each, or a JSON array.
enum KeyFile {
    /// How keys stand there.
    enum Form {
        /// One a line; a JSON array where the first character is `[`.
        case lines
        /// With a NUL behind each, as `keys --print0` writes them.
        case nul
    }

    /// The largest file.
    static let longest = 64 << 20
    /// The most keys.
    static let mostKeys = 100_000

    /// A key of a JSON array: a text, or a whole number.
    private struct Member: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let number = try? value.decode(Int64.self) {
                text = String(number)
            } else {
                text = try value.decode(String.self)
            }
        }
    }

    /// Reads keys, each once, in their order.
    ///
    /// - Parameters:
    ///   - path: The file; `-` for the standard input.
    ///   - form: How keys stand there.
    ///   - key: Makes the user's key of a text.
    /// - Returns: The keys.
    /// - Throws: ``Failure``.
    static func read(
        _ path: String,
        as form: Form,
        key: (String) throws(Failure) -> [UInt8]
    ) throws(Failure) -> [[UInt8]] {
        let bytes = try bytes(of: path)
        var seen: Set<[UInt8]> = []
        var keys: [[UInt8]] = []
        for text in try texts(in: bytes, form) {
            let key = try key(text)
            guard key.count <= WarmQuestion.longestKey else {
                throw Failure(.usage, "key \(keys.count + 1) has more than \(WarmQuestion.longestKey) bytes")
            }
            guard seen.insert(key).inserted else { continue }
            guard keys.count < mostKeys else { throw Failure(.usage, "there are more than \(mostKeys) keys") }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw Failure(.usage, "there is no key in \(name(path))") }
        return keys
    }

    private static func texts(in bytes: [UInt8], _ form: Form) throws(Failure) -> [String] {
        let begin = bytes.drop { [0x20, 0x09, 0x0a, 0x0d].contains($0) }
        if form == .lines, begin.first == UInt8(ascii: "[") {
            do {
                return try JSONDecoder().decode([Member].self, from: Data(bytes)).map(\.text)
            } catch {
                throw Failure(.usage, "input that begins with [ has to be a JSON array of strings and whole numbers")
            }
        }
        let isEnd: (UInt8) -> Bool = form == .nul ? { $0 == 0 } : { $0 == UInt8(ascii: "\n") }
        var texts: [String] = []
        for (number, line) in bytes.split(omittingEmptySubsequences: form == .lines, whereSeparator: isEnd).enumerated()
        {
            var line = line
            if form == .lines, line.last == UInt8(ascii: "\r") { line.removeLast() }
            if line.isEmpty { continue }
            guard let text = String(validating: line, as: UTF8.self) else {
                throw Failure(.usage, "line \(number + 1) is not UTF-8; --escaped reads such keys as \\xHH")
            }
            texts.append(text)
        }
        return texts
    }

    private static func bytes(of path: String) throws(Failure) -> [UInt8] {
        if path == "-" {
            guard !StandardInput.isTerminal else { throw Failure(.usage, "give the keys through a pipe or in a file") }
            guard let bytes = StandardInput.bytes(upTo: longest) else {
                throw Failure(.usage, "the standard input is longer than \(longest >> 20) MiB, or cannot be read")
            }
            return bytes
        }
        do throws(RegularFile.Fault) {
            return try RegularFile(path, upTo: longest).bytes
        } catch {
            throw Failure(.usage, "\(name(path)): \(error.reason)")
        }
    }

    private static func name(_ path: String) -> String {
        path == "-" ? "the standard input" : PrintableText.escape(Array(path.utf8))
    }
}
