/// Why memory could not be written to a file, or a file could not be read back.
///
/// Neither keys nor values are in it, and no path.
public struct HibernationError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    ///
    /// More may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// The file, or its folder, cannot be opened or made.
        public static let cannotOpen = Code(description: "cannot open")
        /// The file cannot be written: the disk is full, or may not be written.
        ///
        /// An earlier file stays as it was.
        public static let cannotWrite = Code(description: "cannot write")
        /// The file cannot be read to its end.
        public static let cannotRead = Code(description: "cannot read")
        /// The file belongs to another user, or others may write it.
        public static let notOwn = Code(description: "not own")
        /// The file was not written by Strata.
        public static let foreign = Code(description: "foreign")
        /// The file was written by a later release.
        public static let newerFormat = Code(description: "newer format")
        /// The beginning of the file is damaged.
        public static let damaged = Code(description: "damaged")
        /// The file is that of another cache: another keyspace or version of it, or other types.
        public static let otherCache = Code(description: "other cache")
        /// The values were written by another codec, or under another schema number.
        public static let otherForm = Code(description: "other form")
        /// No level below memory can tell whether entries still hold, and no age was allowed.
        public static let unconfirmable = Code(description: "unconfirmable")
        /// No level below memory has a codec, and none was given.
        public static let noCodec = Code(description: "no codec")
        /// Keys of this type cannot be made from their bytes, and no closure was given that does so.
        public static let unreadableKeys = Code(description: "unreadable keys")
    }

    /// What kind of failure it was.
    public var code: Code
    /// What went wrong, for a person.
    public var message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "hibernation: \(code): \(message)" }
}

extension HibernationError: CodedError {
    /// The name of ``code``.
    package var codeName: String { "\(code)" }
}
