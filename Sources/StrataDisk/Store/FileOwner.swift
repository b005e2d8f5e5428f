#if Disk
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Sees to it that a file is its user's alone, together with what SQLite puts beside it.
struct FileOwner {
    let path: String

    /// Makes the file where there is none, and rejects one that another user has made, or that every user may write to.
    ///
    /// SQLite gives the files beside it the same mode. The new file is closed at once, which ends no lock: a file that
    /// was not there has none.
    ///
    /// - Throws: ``DiskError/Code/cannotOpen``.
    func claim() throws {
        let made = FileOpening.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        if made >= 0 { close(made) }
        // What lies in a journal is put into the file. A folder or a name that cannot be used is SQLite's to say.
        for (_, found) in files(["", "-wal", "-shm", "-journal"]) {
            guard found.st_uid == geteuid() || found.st_uid == 0 else {
                throw DiskError(.cannotOpen, "the file, or its journal, belongs to another user")
            }
            guard found.st_mode & 0o002 == 0 else {
                throw DiskError(.cannotOpen, "everybody may write to the file, or to its journal")
            }
        }
    }

    /// Takes the rights of others away from what is open: an earlier release has made it, or SQLite has where a link
    /// leads to, by the mask of the process.
    ///
    /// By their names: to open and close them would end locks of this process.
    func shut() {
        for (name, found) in files(["", "-wal", "-shm"]) where found.st_uid == geteuid() && found.st_mode & 0o077 != 0 {
            _ = unsafe chmod(name, found.st_mode & 0o700)
        }
    }

    /// The files that are there, of these endings; SQLite puts them beside what the name leads to.
    private func files(_ endings: [String]) -> [(name: String, found: stat)] {
        var base = path
        if let real = unsafe realpath(path, nil) {
            base = unsafe String(cString: real)
            unsafe free(real)
        }
        return endings.compactMap { ending in
            var found = stat()
            guard unsafe stat(base + ending, &found) == 0 else { return nil }
            return (base + ending, found)
        }
    }
}
#endif
