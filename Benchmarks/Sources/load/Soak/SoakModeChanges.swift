import Foundation

/// How often an instance has changed what it is told of: a byte each in a file of its own, which a killed instance
/// leaves behind.
struct SoakModeChanges: Sendable {
    private static let suffix = ".modes"

    private let path: String

    /// - Parameters:
    ///   - name: No other instance of the run has it.
    ///   - folder: That of the run.
    init(of name: String, in folder: String) { path = "\(folder)/\(name)\(Self.suffix)" }

    func add() {
        guard let file = FileHandle(forWritingAtPath: path) else {
            _ = FileManager.default.createFile(atPath: path, contents: Data([1]))
            return
        }
        file.seekToEndOfFile()
        file.write(Data([1]))
    }

    /// Those of all instances.
    static func count(in folder: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(suffix) }
            .reduce(0) { $0 + (FileManager.default.contents(atPath: "\(folder)/\($1)")?.count ?? 0) }
    }
}
