import Foundation

/// Standard output, a whole line at a time and at once: `print` keeps lines back when nobody watches a terminal.
enum Output {
    static func line(_ text: String = "") {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}
