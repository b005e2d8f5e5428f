/// How a process ended.
public enum ExitStatus: Sendable, Hashable, CustomStringConvertible {
    /// It exited with this code.
    case exited(Int32)
    /// This signal ended it.
    case signalled(Int32)
    /// Other code collected its status.
    case unknown

    /// Whether it exited with code 0.
    public var isSuccess: Bool { self == .exited(0) }

    /// The status in words.
    public var description: String {
        switch self {
        case .exited(let code): "exited with code \(code)"
        case .signalled(let signal): "ended by signal \(signal)"
        case .unknown: "ended with unknown status"
        }
    }

    // The layout of the word is the same on Linux and macOS; the macros of <sys/wait.h> do not reach Swift.
    init(waitStatus: Int32) {
        let signal = waitStatus & 0x7f
        self = signal == 0 ? .exited((waitStatus >> 8) & 0xff) : .signalled(signal)
    }
}
