import Foundation

/// A copy of the text files of a folder, so that the demonstration may change one.
struct ScratchCopy {
    let folder: String
    /// The paths of the files in it, sorted.
    let paths: [String]

    private static let endings: Set<String> = ["swift", "md", "h", "yml", "txt", "json", "modulemap", "sh", "c"]

    /// Copies the files below `source`, hidden and build folders left out.
    ///
    /// - Parameters:
    ///   - source: The folder.
    ///   - most: How many files are taken at most.
    /// - Throws: What the file system refuses.
    init(of source: String, most: Int) throws {
        let files = FileManager.default
        folder = NSTemporaryDirectory() + "strata-fleet-\(UUID().uuidString)"
        var found: [String] = []
        for case let path as String in files.enumerator(atPath: source) ?? FileManager.DirectoryEnumerator() {
            let parts = path.split(separator: "/")
            guard !parts.contains(where: { $0.hasPrefix(".") || $0 == "build" }) else { continue }
            // A link would be followed when something is appended.
            let kind = try files.attributesOfItem(atPath: source + "/" + path)[.type] as? FileAttributeType
            guard kind == .typeRegular else { continue }
            guard let dot = path.lastIndex(of: "."), Self.endings.contains(String(path[path.index(after: dot)...]))
            else { continue }
            found.append(path)
        }
        paths = Array(found.sorted().prefix(most))
        // What is copied may be for its owner alone.
        try files.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        for path in paths {
            let target = URL(fileURLWithPath: folder + "/" + path)
            try files.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try files.copyItem(at: URL(fileURLWithPath: source + "/" + path), to: target)
        }
    }

    func append(_ text: String, to path: String) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/" + path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: folder)
    }
}
