#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The standard output.
enum StandardOutput {
    /// Whether a terminal shows it.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) != 0 }

    /// Writes lines, each with its end.
    ///
    /// Whatever a line was made of, nothing in it acts on a terminal.
    static func lines(_ lines: [String]) { self.lines(lines.map { TintedLine($0) }) }

    /// Writes lines, each with its end, and with its colour where colours are shown.
    static func lines(_ lines: [TintedLine]) {
        bytes(lines.flatMap { Array($0.shown.utf8) + [UInt8(ascii: "\n")] })
    }

    /// Writes a table, by rows where the terminal is too narrow for its columns.
    ///
    /// In a file and in a pipe it is always in columns; in the plain format it has no heading, and tabs between its
    /// cells.
    static func table(_ table: Table, in format: OutputOptions.Format = .table) {
        if format == .plain { cells(table.rows) } else { lines(table.lines(within: columns)) }
    }

    /// Writes names and values; a value that is too long for the terminal goes on in the next line.
    static func fields(_ fields: FieldList, in format: OutputOptions.Format = .table) {
        if format == .plain { cells(fields.rows) } else { lines(fields.lines(within: columns)) }
    }

    /// Writes rows, with tabs between the cells.
    static func cells(_ rows: [[String]]) {
        let text = rows.map { $0.map { ControlCharacters.escaped($0) }.joined(separator: "\t") + "\n" }.joined()
        bytes(Array(text.utf8))
    }

    /// How wide the terminal is; `nil` when none shows the output, or it does not tell.
    static var columns: Int? { size?.columns }

    /// How wide and how high the terminal is; `nil` when none shows the output, or it does not tell.
    static var size: (columns: Int, rows: Int)? {
        var size = winsize()
        guard isTerminal, unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), size.ws_row == 0 ? 24 : Int(size.ws_row))
    }

    /// Writes bytes as they are.
    static func bytes(_ bytes: [UInt8]) {
        guard !Descriptor.write(bytes, to: STDOUT_FILENO) else { return }
        // When the reader is gone, there is no one to tell.
        let number = errno
        if number != EPIPE {
            StandardError.line("stratactl: the output cannot be written: \(unsafe String(cString: strerror(number)))")
        }
        exit(Failure.Status.failed.rawValue)
    }
}

/// The standard error output.
enum StandardError {
    /// Whether a terminal shows it.
    static var isTerminal: Bool { isatty(STDERR_FILENO) != 0 }

    /// Writes a line and its end, after the same treatment as ``StandardOutput/lines(_:)``.
    static func line(_ text: String) {
        _ = Descriptor.write(Array((ControlCharacters.escaped(text) + "\n").utf8), to: STDERR_FILENO)
    }
}

/// The standard input.
enum StandardInput {
    /// Whether a person types it.
    static var isTerminal: Bool { isatty(STDIN_FILENO) != 0 }

    /// All of it; `nil` when it cannot be read, or is longer than that.
    static func bytes(upTo longest: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes { unsafe read(STDIN_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            guard bytes.count <= longest else { return nil }
        }
    }
}

private enum Descriptor {
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// `write` of the system, past the method of the same name.
private func systemWrite(_ descriptor: Int32, _ source: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, source, count)
}
