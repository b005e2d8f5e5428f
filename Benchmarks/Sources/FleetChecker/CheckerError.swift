/// Why a versioned source, a history file or a check could not do what was asked.
///
/// The code says what kind of fault it is and may be compared; the message is for a person.
public struct CheckerError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault.
    ///
    /// New kinds may be added, so a `switch` over it needs a default.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case fileUnavailable, malformedFile, differentRuns, invalidArgument, unknownKey, versionsExhausted
        }

        private let kind: Kind

        /// The operating system refused to create, open, extend, map or read a file.
        public static let fileUnavailable = Code(kind: .fileUnavailable)
        /// The file is not of the expected format, or of another release's.
        public static let malformedFile = Code(kind: .malformedFile)
        /// History files of different runs were given to one check.
        public static let differentRuns = Code(kind: .differentRuns)
        /// An argument is outside its stated range.
        public static let invalidArgument = Code(kind: .invalidArgument)
        /// The key is not one of the run's keys.
        public static let unknownKey = Code(kind: .unknownKey)
        /// The key has been written as often as a version number can count.
        public static let versionsExhausted = Code(kind: .versionsExhausted)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    /// The kind of fault.
    public let code: Code
    /// What happened, for a person.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
