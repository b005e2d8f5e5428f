import Foundation
import Strata

/// What a test has counted while a fault was on, for the table of `make faults`.
enum FaultFigures {
    private static let file = ProcessInfo.processInfo.environment["STRATA_FAULT_FIGURES"]
    private static let turn = Locked(())

    /// Tells the figures of a fault.
    ///
    /// `wrong values` and `mismatched replies` are summed over all faults.
    ///
    /// - Parameters:
    ///   - fault: Its number in Tests/Faults/catalogue.txt.
    ///   - figures: Names and values, in the order in which they are printed.
    static func tell(_ fault: Int, _ figures: KeyValuePairs<String, Any>) {
        tell("\(fault)", figures)
    }

    static func tell(_ subject: String, _ figures: KeyValuePairs<String, Any>) {
        guard let file else { return }
        let line = ([subject] + figures.map { "\($0.key)=\($0.value)" }).joined(separator: "\t") + "\n"
        turn.withLock { _ in
            if !FileManager.default.fileExists(atPath: file) {
                _ = FileManager.default.createFile(atPath: file, contents: nil)
            }
            guard let handle = FileHandle(forWritingAtPath: file) else { return }
            _ = try? handle.seekToEnd()
            try? handle.write(contentsOf: Data(line.utf8))
            try? handle.close()
        }
    }
}

extension Duration {
    /// In whole milliseconds, for a figure.
    var milliseconds: Int { Int(self / .milliseconds(1)) }
}
