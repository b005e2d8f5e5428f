/// What went wrong while the test kit started, drove or stopped a server, a proxy or a process.
///
/// The ``code`` is the kind of failure, the ``message`` is for a person, and ``logTail`` holds the last lines of the
/// process's log, if there is one.
public struct HarnessError: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    ///
    /// More kinds may be added, so a `switch` over it needs a default.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code, as it stands in the source.
        public let description: String

        private init(_ name: String) {
            self.description = name
        }

        /// No executable of that name, or the file may not be executed.
        public static let executableNotFound = Code("executableNotFound")
        /// The operating system refused to start the process or a thread for it.
        public static let launchFailed = Code("launchFailed")
        /// The process ended before it was ready.
        public static let exitedEarly = Code("exitedEarly")
        /// The process is not running (any more), or the proxy or server was stopped.
        public static let notRunning = Code("notRunning")
        /// The time allowed for the operation ran out.
        public static let deadlineExceeded = Code("deadlineExceeded")
        /// The port or socket path belongs to another process.
        public static let addressInUse = Code("addressInUse")
        /// A host name, path, port or URL cannot be used.
        public static let invalidAddress = Code("invalidAddress")
        /// A clock cannot be moved by this time.
        public static let invalidTime = Code("invalidTime")
        /// A setting cannot be used.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// A socket call failed, or the peer closed the connection.
        public static let connectionFailed = Code("connectionFailed")
        /// The peer sent bytes that are no reply of the Redis protocol, or more than the kit accepts.
        public static let malformedReply = Code("malformedReply")
        /// The server answered with an error; its text is the message.
        public static let errorReply = Code("errorReply")
        /// The server was not started by this process, so it cannot be stopped, paused or restarted by it.
        public static let externalServer = Code("externalServer")
        /// A file or folder could not be made, read, written or removed.
        public static let fileFailed = Code("fileFailed")
    }

    /// The kind of the failure.
    public let code: Code
    /// The failure in words.
    ///
    /// Holds no password.
    public let message: String
    /// The last lines of the process's log, oldest first; empty if there is none.
    public let logTail: [String]
    /// The error that led to this one.
    public let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of the failure.
    ///   - message: The failure in words.
    ///   - logTail: The last log lines, oldest first.
    ///   - cause: The error that led to this one.
    public init(_ code: Code, _ message: String, logTail: [String] = [], cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.logTail = logTail
        self.cause = cause
    }

    /// The code, the message, the cause and the log lines.
    public var description: String {
        var text = "\(code): \(message)"
        if let cause {
            text += " (\(cause))"
        }
        if !logTail.isEmpty {
            text += "\nlast log lines:\n" + logTail.joined(separator: "\n")
        }
        return text
    }
}
