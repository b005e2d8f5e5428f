import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open file whose pages are mapped by several processes; closed when it goes out of scope.
struct SharedFile: ~Copyable {
    /// Mappings begin at multiples of this: the largest page of the supported platforms (Apple silicon has 16 KiB).
    static let pageSize = 16_384

    private let descriptor: Int32
    let path: String

    /// Creates a file that must not exist yet, readable by its owner alone.
    init(creating path: String) throws(CheckerError) {
        try self.init(path, flags: O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC)
    }

    init(opening path: String, readOnly: Bool) throws(CheckerError) {
        try self.init(path, flags: (readOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC)
    }

    private init(_ path: String, flags: Int32) throws(CheckerError) {
        let opened = unsafe open(path, flags, 0o600)
        guard opened >= 0 else { throw Self.failure("open", path) }
        self.descriptor = opened
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// The file's length in bytes.
    func size() throws(CheckerError) -> Int {
        let end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else { throw Self.failure("measure", path) }
        return Int(end)
    }

    /// Makes the file longer, with zeros that have room on the disk.
    ///
    /// Room is reserved at once, since a write into a mapped page that finds the disk full ends the process. Platforms
    /// and file systems that cannot reserve get a hole instead.
    func extend(from old: Int, to new: Int) throws(CheckerError) {
        #if os(Linux)
        let fault = posix_fallocate(descriptor, off_t(old), off_t(new - old))
        if fault == 0 { return }
        guard fault == EOPNOTSUPP || fault == EINVAL else { throw Self.failure("extend", path, fault) }
        #endif
        try truncate(to: new)
    }

    func truncate(to size: Int) throws(CheckerError) {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw Self.failure("extend", path) }
    }

    /// Maps a part of the file for reading and writing, shared with all who map it.
    func map(offset: Int, bytes: Int) throws(CheckerError) -> UnsafeMutablePointer<Atomic<UInt64>> {
        let mapped = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(offset))
        return unsafe try Self.words(mapped, path)
    }

    static func unmap(_ words: UnsafeMutablePointer<Atomic<UInt64>>, bytes: Int) {
        _ = unsafe munmap(words, bytes)
    }

    /// Reads at a place until the buffer is full or the file ends; gives back how many bytes came.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(CheckerError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let got = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset + filled))
            if got == 0 { break }
            if got > 0 {
                filled += got
            } else if errno != EINTR {
                throw Self.failure("read", path)
            }
        }
        return filled
    }

    #if canImport(Darwin)
    static let anonymous = MAP_ANON
    #else
    static let anonymous = MAP_ANONYMOUS
    #endif

    /// Takes the answer of `mmap` as words.
    ///
    /// Zeroed memory is a valid atomic: it is laid out as the integer it holds.
    static func words(
        _ mapped: UnsafeMutableRawPointer?,
        _ what: String
    ) throws(CheckerError) -> UnsafeMutablePointer<Atomic<UInt64>> {
        guard let mapped = unsafe mapped, unsafe mapped != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw failure("map", what)
        }
        return unsafe mapped.assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private static func failure(_ deed: String, _ path: String, _ code: Int32 = errno) -> CheckerError {
        CheckerError(.fileUnavailable, "cannot \(deed) \(path): \(unsafe String(cString: strerror(code)))")
    }
}
