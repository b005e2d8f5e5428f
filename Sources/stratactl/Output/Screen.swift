import Strata
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The second page that terminals have, on which a program draws and behind which the first one stays as it was.
///
/// Whatever ends the program, the first page is back, with the cursor, and with the input as it was: signals are noted
/// by their handler and acted on by ``attend()``.
final class Screen: Sendable {
    private struct State: Sendable {
        var isShown = false
        var hasInput = false
    }

    private static let ending = EndingSignal()
    private static let endings = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    /// The input as it was, written before there is a handler that restores it: handlers take no lock.
    nonisolated(unsafe) private static var initial = termios()
    private static let hasInitial = Atomic<Bool>(false)
    private static let restoring: StaticString = "\u{1b}[?25h\u{1b}[?1049l"

    private let state = Locked(State())

    /// Shows the second page, with the input unbuffered and unseen.
    func enter() {
        Self.ending.expect()
        if isatty(STDIN_FILENO) != 0, unsafe tcgetattr(STDIN_FILENO, &Self.initial) == 0 {
            Self.hasInitial.store(true, ordering: .relaxed)
        }
        for number in Self.endings {
            signal(number) { number in
                // A person who asks twice does not want to wait.
                guard Screen.ending.note(number) else { return }
                Screen.restore()
                _exit(1)
            }
        }
        // A shell would be left on the second page.
        signal(SIGTSTP, SIG_IGN)
        state.withLock { state in
            if Self.hasInitial.load(ordering: .relaxed) {
                var settings = unsafe Self.initial
                state.hasInput = true
                settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
                unsafe withUnsafeMutableBytes(of: &settings.c_cc) { keys in
                    unsafe keys[Int(VMIN)] = 0
                    unsafe keys[Int(VTIME)] = 0
                }
                _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings)
            }
            state.isShown = true
            StandardOutput.bytes(Array("\u{1b}[?1049h\u{1b}[?25l".utf8))
        }
    }

    /// Draws a page; what the terminal has no room for is left out.
    func draw(_ lines: [String], rows: Int, columns: Int) {
        let shown = lines.prefix(max(rows, 1)).map { Self.cut(ControlCharacters.escaped($0), to: columns) }
        let text = "\u{1b}[H" + shown.joined(separator: "\u{1b}[K\r\n") + "\u{1b}[K\u{1b}[J"
        state.withLock { state in
            if state.isShown { StandardOutput.bytes(Array(text.utf8)) }
        }
    }

    /// Shows the first page again; does nothing when it is shown.
    func leave() {
        state.withLock { state in
            guard state.isShown else { return }
            state.isShown = false
            Self.restore()
        }
    }

    /// Shows the first page, with the input as it was; may be called by a handler of signals.
    private static func restore() {
        _ = unsafe write(STDOUT_FILENO, restoring.utf8Start, restoring.utf8CodeUnitCount)
        if hasInitial.load(ordering: .relaxed) { _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &initial) }
    }

    /// Returns when the person presses `q`; ends the program, as the signal would have, when one has come.
    ///
    /// - Throws: `CancellationError`.
    func attend() async throws {
        let hasInput = state.withLock { $0.hasInput }
        while true {
            let number = Self.ending.first
            if number != 0 {
                leave()
                signal(number, SIG_DFL)
                // To the process: threads of the pool let no signal through.
                kill(getpid(), number)
                try await Task.pause(for: .seconds(1))
                _exit(128 + number)
            }
            if hasInput {
                var byte: UInt8 = 0
                while unsafe read(STDIN_FILENO, &byte, 1) == 1 {
                    if byte == UInt8(ascii: "q") || byte == 4 { return }
                }
            }
            try await Task.pause(for: .milliseconds(50))
        }
    }

    /// The text up to a number of columns.
    private static func cut(_ text: String, to columns: Int) -> String {
        guard DisplayWidth.of(text) > columns else { return text }
        var (result, used) = ("", 0)
        for character in text {
            used += DisplayWidth.of(String(character))
            guard used <= columns else { break }
            result.append(character)
        }
        return result
    }
}
