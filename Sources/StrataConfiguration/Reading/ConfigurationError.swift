#if Configuration
/// Why a configuration cannot be used.
///
/// It names the key and says which values it takes. It never holds the value: under a wrong key that may be a password.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// What is wrong.
    ///
    /// More may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// The value does not have the form that the key takes, such as a duration.
        public static let wrongForm = Code(description: "wrong form")
        /// The number, duration or size is too small or too large.
        public static let outOfRange = Code(description: "out of range")
        /// The value is none of the words that the key takes.
        public static let unknownValue = Code(description: "unknown value")
        /// A required value is missing.
        public static let missing = Code(description: "missing")
        /// Two keys contradict each other, or one needs another that is missing.
        public static let conflict = Code(description: "conflict")
    }

    /// What is wrong.
    public var code: Code
    /// The key, as seen from the reader that was passed: `redis.connectTimeout`.
    public var key: String
    /// What is wrong and what would be valid, for a person.
    public var message: String
    /// The error behind this one, if there is one.
    public var cause: (any Error)?

    init(_ code: Code, _ key: String, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.key = key
        self.message = message
        self.cause = cause
    }

    /// The key and the message.
    public var description: String { "configuration: \(key): \(message)" }
}
#endif
