#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A folder of a test's own, which goes with this value.
package final class ScratchFolder: Sendable {
    package let path: String

    package init() throws {
        path = "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A file in it.
    package var file: String { "\(path)/cache.warm" }

    /// The files that lie in it.
    package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

    /// The bytes of a file in it.
    package func bytes(of path: String? = nil) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path ?? file)))
    }

    /// Writes a file in it that only this user may use.
    package func write(_ bytes: [UInt8], to path: String? = nil) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path ?? file))
        try allow(0o600, path)
    }

    /// Sets who may use a file in it.
    package func allow(_ mode: Int, _ path: String? = nil) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path ?? file)
    }

    /// Who may use a file in it.
    package func mode() throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        return (attributes[.posixPermissions] as? Int) ?? -1
    }
}
