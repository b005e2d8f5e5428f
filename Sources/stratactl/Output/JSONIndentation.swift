import StrataRedis

/// JSON text on several lines, indented by its nesting.
///
/// It goes token by token and keeps each token as it stands: numbers keep their digits, and a text that is cut off or
/// no JSON comes out all the same.
struct JSONIndentation {
    /// Deeper levels are indented like this one, or a megabyte of brackets would become a terabyte of spaces.
    private static let deepest = 32

    private var lines: [String] = []
    private var line: [UInt8] = []
    private var depth = 0

    static func lines(_ bytes: [UInt8]) -> [String] {
        var indentation = JSONIndentation()
        indentation.read(bytes)
        indentation.endLine()
        return indentation.lines
    }

    private mutating func read(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                line.append(byte)
                rest = rest.drop { " \t\r\n".utf8.contains($0) }
                if let closing = rest.first, closing == UInt8(ascii: "}") || closing == UInt8(ascii: "]") {
                    line.append(closing)
                    rest.removeFirst()
                } else {
                    depth += 1
                    endLine()
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                endLine()
                depth = max(0, depth - 1)
                line.append(byte)
            case UInt8(ascii: ","):
                line.append(byte)
                endLine()
            case UInt8(ascii: ":"):
                line += [byte, UInt8(ascii: " ")]
            case UInt8(ascii: "\""):
                line.append(byte)
                takeString(from: &rest)
            default:
                line.append(byte)
            }
        }
    }

    /// The rest of a string, with its end.
    private mutating func takeString(from rest: inout ArraySlice<UInt8>) {
        while let byte = rest.popFirst() {
            line.append(byte)
            if byte == UInt8(ascii: "\"") { return }
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() { line.append(escaped) }
        }
    }

    private mutating func endLine() {
        guard !line.isEmpty else { return }
        // What a line opens is indented from the next line on, what it closes is not indented any more.
        let opens = line.last == UInt8(ascii: "{") || line.last == UInt8(ascii: "[")
        let level = min(max(0, opens ? depth - 1 : depth), Self.deepest)
        lines.append(String(repeating: "  ", count: level) + Self.printable(line))
        line.removeAll(keepingCapacity: true)
    }

    /// Backslashes stay, as they are JSON's own; what JSON forbids or a terminal acts on is escaped as JSON would.
    private static func printable(_ line: [UInt8]) -> String {
        guard let text = String(validating: line, as: UTF8.self) else { return PrintableText.escape(line) }
        return ControlCharacters.escapedJSON(text).replacing("\n", with: "\\u000a")
    }
}
