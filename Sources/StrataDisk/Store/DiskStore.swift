#if Disk
internal import Dispatch
internal import GRDB
internal import Strata

/// A file on disk (SQLite) that levels keep their entries in, each in a namespace of its own.
///
/// ```swift
/// let store = DiskStore(path: "/var/lib/shop/cache.sqlite")
/// let products = DiskLevel<Int, Product>(store, namespace: "products")
/// let pages = DiskLevel<String, [UInt8]>(store, namespace: "pages", codec: .bytes, limit: 1 << 30)
/// ```
///
/// Several processes may share the file. After a crash a write is there as a whole or not at all.
///
/// The file is opened by the first call that needs it, on a thread of its own: nothing here blocks the threads of
/// tasks. Calls that come meanwhile wait for it, too; a cancelled one returns at once. If the file cannot be opened
/// those calls fail, and the next one tries again. A file that is no database is set aside
/// (``DiskOptions/corruption``), one of another program is never touched. When the file is moved away or deleted, a new
/// one takes its place. A file in which damage was found is checked as a whole before it is used again.
public final class DiskStore: Sendable, CustomStringConvertible {
    private struct State {
        var file: OpenFile?
        var isSuspect = false
        var isClosed = false
    }

    /// Where the file is.
    public let path: String
    /// How it is opened and used.
    public let options: DiskOptions
    private let state = Locked(State())
    // Opening waits for other processes and for the disk.
    private let opening = DispatchQueue(label: "strata.disk.open")
    /// One opening for all calls that need the file.
    let openings = Flights<Opening, OpenFile>()

    enum Opening: Hashable, Sendable { case file }

    /// A store in a file.
    ///
    /// Nothing is opened yet.
    ///
    /// - Parameters:
    ///   - path: The file. Its folder is made if it is missing. While the file is open, files that end in `-wal`,
    ///     `-shm` and `.lock` lie beside it.
    ///   - options: How it is opened and used.
    public init(path: String, options: DiskOptions = DiskOptions()) {
        self.path = path
        self.options = options
    }

    /// Closes the file.
    ///
    /// Calls that are under way end first; later ones throw ``DiskError/Code/closed``.
    public func close() async {
        await onOpeningQueue { store in
            let file = store.state.withLock { state in
                state.isClosed = true
                defer { state.file = nil }
                return state.file
            }
            try? file?.pool.close()
        }
    }

    /// The path.
    public var description: String { path }

    // MARK: Inside

    /// Reads without a transaction: each statement sees the file as it is.
    func read<Result: Sendable>(_ body: @Sendable (Database, OpenFile) throws -> Result) async throws -> Result {
        try await withFile { file in
            try await file.pool.unsafeRead { db in
                guard file.isInPlace else { throw Moved() }
                return try body(db, file)
            }
        }
    }

    /// Reads in one transaction.
    func readTogether<Result: Sendable>(
        _ body: @Sendable (Database, OpenFile) throws -> Result
    ) async throws -> Result {
        try await withFile { file in
            try await file.pool.read { db in
                guard file.isInPlace else { throw Moved() }
                return try body(db, file)
            }
        }
    }

    /// Writes in one transaction: all of it or nothing.
    func write<Result: Sendable>(_ body: @Sendable (Database, OpenFile) throws -> Result) async throws -> Result {
        try await withFile { file in
            let wait = WriteWait(deadline: .now.advanced(by: options.lockTimeout))
            return try await withTaskCancellationHandler {
                try await file.write(wait) { db in
                    guard file.isInPlace else { throw Moved() }
                    return try body(db, file)
                }
            } onCancel: {
                wait.cancel()
            }
        }
    }

    /// Another file has the name now.
    private struct Moved: Error {}

    private func withFile<Result>(_ body: (OpenFile) async throws -> Result) async throws -> Result {
        var isAgain = false
        while true {
            let file = try await openFile()
            do {
                return try await body(file)
            } catch {
                // A connection that is opened late fails on a file that is gone.
                let isMoved = error is Moved || (error is DatabaseError && !file.isInPlace)
                if isMoved, !isAgain {
                    isAgain = true
                    await drop(file, isSuspect: false)
                    continue
                }
                // Another call has met damage, and the file was closed under this one. Nothing of it was done.
                if (error as? DatabaseError)?.resultCode == .SQLITE_MISUSE, !isAgain, wasDropped(file) {
                    isAgain = true
                    continue
                }
                if error is Moved { throw DiskError(.notWritable, "the file keeps being moved away") }
                guard let error = error as? DatabaseError else { throw error }
                if [.SQLITE_INTERRUPT, .SQLITE_BUSY].contains(error.resultCode), Task.isCancelled {
                    throw CancellationError()
                }
                let failure = DiskError(error)
                if failure.code == .corrupt { await drop(file, isSuspect: true) }
                throw failure
            }
        }
    }

    func openFile() async throws -> OpenFile {
        if let file = state.withLock({ $0.file }) { return file }
        return
            try await openings.join(.file) { [self] _ in
                try await onOpeningQueue { store in Result { try store.opened() } }.get()
            }
            .output
    }

    /// Whether a file was closed, and not the store.
    private func wasDropped(_ file: OpenFile) -> Bool {
        state.withLock { !$0.isClosed && $0.file !== file }
    }

    /// Runs on the opening queue, so one call at a time.
    private func opened() throws -> OpenFile {
        let (file, isSuspect, isClosed) = state.withLock { ($0.file, $0.isSuspect, $0.isClosed) }
        if let file { return file }
        guard !isClosed else { throw DiskError(.closed, "the store was closed") }
        let opened: OpenFile
        do {
            opened = try FileOpening(path: path, options: options).open(isSuspect: isSuspect)
        } catch let error as DatabaseError {
            throw DiskError(error)
        }
        state.withLock { state in
            state.file = opened
            state.isSuspect = false
        }
        return opened
    }

    /// Forgets a file, and opens anew at the next call.
    private func drop(_ file: OpenFile, isSuspect: Bool) async {
        await onOpeningQueue { store in
            let dropped = store.state.withLock { state in
                guard state.file === file else { return false }
                state.file = nil
                state.isSuspect = isSuspect
                return true
            }
            if dropped { try? file.pool.close() }
        }
    }

    private func onOpeningQueue<Result: Sendable>(_ body: @escaping @Sendable (DiskStore) -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            opening.async { continuation.resume(returning: body(self)) }
        }
    }
}
#endif
