#if Disk
internal import GRDB
internal import Strata

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Opens a file while no other process does, and sets one aside that is damaged.
struct FileOpening {
    let path: String
    let options: DiskOptions

    /// Blocks.
    func open(isSuspect: Bool) throws -> OpenFile {
        if let folder = path.lastIndex(of: "/").map({ String(path[..<$0]) }), !folder.isEmpty {
            do {
                try FileManager.default.createDirectory(
                    atPath: folder,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            } catch {
                throw DiskError(.cannotOpen, "the folder cannot be created")
            }
        }
        // Without the lock, one process could set aside the file that another has just made.
        let lock = Self.open(path + ".lock", O_RDWR | O_CREAT)
        guard lock >= 0 else { throw DiskError(.cannotOpen, "the lock file cannot be opened (\(errno))") }
        defer { close(lock) }
        try take(lock)
        try owner.claim()
        try refuseOthers()
        do {
            return try opened(isSuspect: isSuspect)
        } catch {
            guard options.corruption == .recreate, isCorruption(error) else { throw error }
        }
        try setAside()
        try owner.claim()
        return try opened(isSuspect: false)
    }

    private var owner: FileOwner { FileOwner(path: path) }

    private func opened(isSuspect: Bool) throws -> OpenFile {
        let file = try OpenFile(path, options, isSuspect: isSuspect)
        owner.shut()
        return file
    }

    static func open(_ file: String, _ flags: Int32) -> Int32 {
        // The system's function has the same name.
        #if canImport(Darwin)
        unsafe Darwin.open(file, flags | O_CLOEXEC, 0o600)
        #elseif canImport(Musl)
        unsafe Musl.open(file, flags | O_CLOEXEC, 0o600)
        #else
        unsafe Glibc.open(file, flags | O_CLOEXEC, 0o600)
        #endif
    }

    /// Waits for other processes that open the file, as long as for those that write.
    ///
    /// The system has no lock of files that waits for a limited time, so this asks again and again, on the thread of
    /// the store's openings.
    private func take(_ lock: Int32) throws {
        let end = MonotonicInstant.now.advanced(by: options.lockTimeout)
        while flock(lock, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw DiskError(.cannotOpen, "the lock file cannot be locked (\(errno))")
            }
            guard MonotonicInstant.now < end else {
                throw DiskError(.busy, "another process is opening the file, or checking it after damage")
            }
            usleep(5_000)
        }
    }

    /// Refuses a database of another program, or of a later release, before it is opened as ours is, which changes it.
    ///
    /// By SQLite: another way to open and close the file would end the locks that this process has on it by other
    /// stores (sqlite.org/howtocorrupt.html §2.2). A file that is not there is ours to make, and a damaged one is for
    /// ``open(isSuspect:)``. One that another program keeps locked is left alone until its owner is known.
    private func refuseOthers() throws {
        do {
            try look(isReadOnly: true)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
            // Its program has died while it wrote. Each reader first puts back what the journal has.
            try look(isReadOnly: false)
        }
    }

    private func look(isReadOnly: Bool) throws {
        var configuration = Configuration()
        configuration.label = "strata"
        configuration.readonly = isReadOnly
        let turn = WriteTurn(options.lockTimeout)
        configuration.busyMode = .callback { turn.tryAgain(after: $0) }
        do {
            let file = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? file.close() }
            _ = try file.read { try DiskSchema.isOurs($0) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN || isCorruption(error) {}
    }

    private func isCorruption(_ error: any Error) -> Bool {
        switch error {
        case let error as DatabaseError: DiskError(error).code == .corrupt
        case let error as DiskError: error.code == .corrupt
        default: false
        }
    }

    /// The journals first: a new file must not meet those of an old one.
    ///
    /// In the place of the one before: a disk that fails must not fill up with copies.
    private func setAside() throws {
        let name = path + ".corrupt"
        for ending in ["-wal", "-shm", ""] {
            if unsafe rename(path + ending, name + ending) == 0 { continue }
            guard errno == ENOENT else {
                throw DiskError(.corrupt, "the file is damaged and cannot be set aside (\(errno))")
            }
            // A journal of the one before would be taken for this one's.
            unsafe unlink(name + ending)
        }
    }
}
#endif
