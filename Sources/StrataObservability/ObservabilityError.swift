#if Observability
/// Why something cannot be exported.
public struct ObservabilityError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    ///
    /// More may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// Another cache has the name.
        public static let nameTaken = Code(description: "name taken")
    }

    /// What kind of failure it was.
    public var code: Code
    /// What went wrong, for a person.
    public var message: String

    init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "observability: \(code): \(message)" }
}
#endif
