#if Disk
internal import GRDB
internal import Strata

/// Why a disk could not be read or written.
///
/// It contains neither keys nor values.
public struct DiskError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    ///
    /// More may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// The file cannot be opened or created: the folder is missing or may not be entered.
        public static let cannotOpen = Code(description: "cannot open")
        /// The file may be read only, or was moved away.
        public static let notWritable = Code(description: "not writable")
        /// The disk is full, or the file has reached its own limit.
        public static let full = Code(description: "full")
        /// The file is no database, or a damaged one.
        public static let corrupt = Code(description: "corrupt")
        /// Another process has kept the file locked for longer than ``DiskOptions/lockTimeout``.
        public static let busy = Code(description: "busy")
        /// The file is a database of another program; nothing in it was touched.
        public static let foreign = Code(description: "foreign")
        /// The file was made by a later release; nothing in it was touched.
        public static let newerFormat = Code(description: "newer format")
        /// The namespace has no room, and may not evict.
        public static let noRoom = Code(description: "no room")
        /// The store was closed.
        public static let closed = Code(description: "closed")
        /// The system could not read or write.
        public static let inputOutput = Code(description: "input or output")
    }

    /// What kind of failure it was.
    public var code: Code
    /// What went wrong, for a person.
    public var message: String
    /// The extended result code of SQLite, if the error comes from it.
    public var sqliteCode: Int32?

    init(_ code: Code, _ message: String, sqliteCode: Int32? = nil) {
        self.code = code
        self.message = message
        self.sqliteCode = sqliteCode
    }

    /// The code and the message.
    public var description: String { "disk: \(code): \(message)" }

    /// What GRDB has thrown, as an error of the level.
    ///
    /// SQLite's message may name tables, and never has values.
    init(_ error: DatabaseError) {
        let code: Code =
            switch error.resultCode {
            case .SQLITE_CANTOPEN: .cannotOpen
            case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH: .notWritable
            case .SQLITE_FULL: .full
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt
            case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
            case .SQLITE_MISUSE: .closed
            default: .inputOutput
            }
        self.init(code, error.message ?? "SQLite gives no reason", sqliteCode: error.extendedResultCode.rawValue)
    }
}

extension DiskError: CodedError {
    /// The name of ``code``.
    package var codeName: String { "\(code)" }
}
#endif
