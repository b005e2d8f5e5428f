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

/// Writes a file of hibernated entries: first under a temporary name, which it changes when the file is whole.
///
/// So a file with the final name is whole, whatever processes write it at the same time, and whenever they are killed.
/// Nothing waits for the disk: a power cut may leave a file that is cut or empty, which the reader notices.
final class HibernationWriter: Sendable {
    private struct State: ~Copyable {
        var file: HibernationFile?
        var path = ""
    }

    /// What stands between the name of a file and a random number while it is written.
    static let marker = ".writing-"

    private let path: String
    private let identity: UInt64
    private let state: Locked<State>

    /// Opens a file; blocks.
    ///
    /// - Throws: ``HibernationError/Code/cannotOpen``, ``HibernationError/Code/cannotWrite``.
    init(_ path: String, _ header: HibernationHeader) throws(HibernationError) {
        self.path = path
        identity = header.identity
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw HibernationError(.cannotOpen, "the folder cannot be created")
        }
        Self.removeForgotten(beside: path, in: folder)
        state = Locked(try Self.begin(beside: path, header))
    }

    deinit { discard() }

    /// A new file with its header, which other processes that begin at the same moment have not taken for a forgotten
    /// one.
    private static func begin(beside path: String, _ header: HibernationHeader) throws(HibernationError) -> State {
        for _ in 0..<64 {
            let temporary = path + marker + String(UInt64.random(in: .min ... .max), radix: 16)
            guard let file = try HibernationFile(making: temporary) else { continue }
            do {
                try file.write(header.bytes)
            } catch {
                unsafe unlink(temporary)
                throw error
            }
            return State(file: file, path: temporary)
        }
        throw HibernationError(.cannotOpen, "other processes keep removing the file before it is written")
    }

    /// Files that killed processes have left behind.
    private static func removeForgotten(beside path: String, in folder: String) {
        let name = (path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path) + marker
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for other in names where other.hasPrefix(name) { HibernationFile.removeForgotten(folder + other) }
    }

    /// Adds framed records; blocks.
    func write(_ framed: [UInt8]) throws(HibernationError) {
        try state.withLock { (state) throws(HibernationError) in try state.file?.write(framed) }
    }

    /// Writes the end, and puts the file in the place of the one before; blocks.
    func finish(count: Int) throws(HibernationError) {
        try write(HibernationRecord.end(after: count, identity))
        let temporary = state.withLock { $0.path }
        guard unsafe rename(temporary, path) == 0 else {
            throw HibernationError(.cannotWrite, HibernationFile.systemError)
        }
        state.withLock { state in
            state.path = ""
            state.file = nil
        }
    }

    /// Gives the file up, unless it is finished.
    func discard() {
        state.withLock { state in
            guard !state.path.isEmpty else { return }
            unsafe unlink(state.path)
            state.path = ""
            state.file = nil
        }
    }
}
