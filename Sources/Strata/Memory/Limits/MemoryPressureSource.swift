#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The kernel's files about memory; any of them may be missing.
package struct MemoryPressureSource: Sendable {
    /// The folder of a control group; `nil` where there is none.
    private let folder: String?

    /// The files of a folder of the caller's choice.
    package init(folder: String?) { self.folder = folder }

    /// The files of this process's control group (version 2).
    static var ofThisProcess: MemoryPressureSource {
        let groups = bytes(of: "/proc/self/cgroup") ?? []
        let line = groups.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "0::".utf8) }
        guard let line else { return MemoryPressureSource(folder: nil) }
        return MemoryPressureSource(folder: "/sys/fs/cgroup" + String(decoding: line.dropFirst(3), as: UTF8.self))
    }

    func read() -> MemoryPressureReading {
        var reading = MemoryPressureReading()
        if let text = bytes("memory.events") { reading.add(events: text) }
        if let text = bytes("memory.pressure") { reading.add(stalls: text) }
        for limit in ["memory.max", "memory.high"] { if let text = bytes(limit) { reading.add(limit: text) } }
        if let use = bytes("memory.current"), let parts = bytes("memory.stat") { reading.add(use: use, parts: parts) }
        return reading
    }

    private func bytes(_ file: String) -> [UInt8]? { folder.flatMap { Self.bytes(of: $0 + "/" + file) } }

    /// The first 4 KiB of a file, in which all that is wanted stands; `nil` when it cannot be read.
    private static func bytes(of path: String) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var count = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, initialized in
            count = unsafe systemRead(file, buffer)
            initialized = max(count, 0)
        }
        return count < 0 ? nil : bytes
    }
}

/// `read(2)`, under a name that no method shadows.
private func systemRead(_ file: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    unsafe read(file, buffer.baseAddress, buffer.count)
}
