import Foundation

/// Standard output, a whole line at a time and at once: `print` keeps lines back when the output is no terminal.
enum Output {
    static func line(_ text: String = "") {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}
