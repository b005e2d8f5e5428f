#if Disk
internal import Strata

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The first bytes of a database, read without SQLite: to open one as ours would change it.
///
/// Source: the file format of SQLite, "The Database Header" and "B-tree Pages" (sqlite.org/fileformat.html).
struct FileHeader {
    private let bytes: [UInt8]

    /// The header of a file; `nil` where it is no database, or where its journal may have another.
    init?(_ path: String) {
        guard Self.read(path + "-wal", 1).isEmpty else { return nil }
        bytes = Self.read(path, 108)
        guard bytes.count == 108, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return nil }
    }

    /// - Throws: ``DiskError/Code/foreign`` and ``DiskError/Code/newerFormat``, as ``DiskSchema/prepare(_:)``.
    func check() throws {
        let (application, format) = (number(68), number(60))
        if application == DiskSchema.application {
            guard format <= DiskSchema.format else { throw DiskSchema.newer(format) }
        } else {
            guard application == 0, format == 0, isEmpty else { throw DiskSchema.foreign }
        }
    }

    /// Whether there is no table: the first page is a leaf without cells.
    private var isEmpty: Bool { bytes[100] == 0x0D && bytes[103] == 0 && bytes[104] == 0 }

    private func number(_ offset: Int) -> Int32 {
        Int32(bitPattern: bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }

    private static func read(_ path: String, _ count: Int) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, read in
            read = unsafe max(0, pread(file, buffer.baseAddress, count, 0))
        }
    }
}
#endif
