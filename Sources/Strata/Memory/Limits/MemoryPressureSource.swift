#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The kernel's files about memory; any of them may be missing.
package struct MemoryPressureSource: Sendable {
    var events: String?
    var stalls: String?

    /// Files of the caller's choice.
    package init(events: String?, stalls: String?) {
        self.events = events
        self.stalls = stalls
    }

    /// The files of this process's control group (version 2).
    static var ofThisProcess: MemoryPressureSource {
        let groups = bytes(of: "/proc/self/cgroup") ?? []
        let line = groups.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "0::".utf8) }
        guard let line else { return MemoryPressureSource(events: nil, stalls: nil) }
        let folder = "/sys/fs/cgroup" + String(decoding: line.dropFirst(3), as: UTF8.self)
        return MemoryPressureSource(events: folder + "/memory.events", stalls: folder + "/memory.pressure")
    }

    func read() -> MemoryPressureReading {
        var reading = MemoryPressureReading()
        if let events, let text = MemoryPressureSource.bytes(of: events) { reading.add(events: text) }
        if let stalls, let text = MemoryPressureSource.bytes(of: stalls) { reading.add(stalls: text) }
        return reading
    }

    /// The first 4 KiB of a file, which is more than any of these has; `nil` when it cannot be read.
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
