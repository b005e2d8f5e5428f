import Foundation

/// The keys of a workload in the order in which they were asked for, numbered from 0 by first appearance.
struct Trace: Sendable {
    let name: String
    let keys: [UInt32]
    /// The number of different keys.
    let distinct: Int

    /// A trace of arbitrary keys.
    init<Key: Hashable>(name: String, keys: some Sequence<Key>) {
        var numbers: [Key: UInt32] = [:]
        var numbered: [UInt32] = []
        for key in keys {
            if let number = numbers[key] {
                numbered.append(number)
            } else {
                let number = UInt32(numbers.count)
                numbers[key] = number
                numbered.append(number)
            }
        }
        self.name = name
        self.keys = numbered
        distinct = numbers.count
    }

    /// Reads a trace with one key a line from a plain file, an `.xz` file (through `xz -dc`) or, for `-`, standard
    /// input.
    init(path: String) throws {
        let data: Data
        if path == "-" {
            data = FileHandle.standardInput.readDataToEndOfFile()
        } else if path.hasSuffix(".xz") {
            data = try Trace.decompress(path)
        } else {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        }
        let lines = data.split(separator: UInt8(ascii: "\n"))
        self.init(name: URL(fileURLWithPath: path).lastPathComponent, keys: lines)
    }

    private static func decompress(_ path: String) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["xz", "-dc", path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileReadCorruptFile) }
        return data
    }
}
