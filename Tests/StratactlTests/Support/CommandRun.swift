import Foundation
import StrataTesting
import Testing

/// What a run of the built `stratactl` has left behind.
struct CommandRun {
    let status: StrataTesting.ExitStatus
    /// The standard output and the standard error output, byte by byte.
    let output: [UInt8]
    let errors: [UInt8]

    var text: String { String(decoding: output, as: UTF8.self) }
    var errorText: String { String(decoding: errors, as: UTF8.self) }
    var lines: [String] { text.split(separator: "\n").map(String.init) }
    var errorLines: [String] { errorText.split(separator: "\n").map(String.init) }

    /// Runs the program to its end.
    static func of(_ arguments: [String], environment: [String: String?] = [:]) async throws -> CommandRun {
        try await of("exec \"$0\" \"$@\"", arguments, environment: environment)
    }

    /// Runs a shell script in which `$0` is the program, and collects what it writes.
    static func of(
        _ script: String,
        _ arguments: [String] = [],
        environment: [String: String?] = [:]
    ) async throws -> CommandRun {
        let folder = FileManager.default.temporaryDirectory.appending(path: "stratactl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (output, errors) = (folder.appending(path: "output"), folder.appending(path: "errors"))
        let none: [String: String?] = [
            "STRATA_REDIS_URL": nil, "STRATA_REDIS_PASSWORD": nil, "STRATACTL_CONTEXT": nil, "NO_COLOR": nil,
            // Not that of whoever runs the tests.
            "XDG_CONFIG_HOME": "/nonexistent",
        ]
        let process = try await InstanceProcess.start(
            "/bin/sh",
            // Through files, not lines: what was written is to be seen as it is.
            arguments: ["-c", "exec >\"$OUTPUT\" 2>\"$ERRORS\"; " + script]
                + [try InstanceProcess.builtProduct(named: "stratactl")] + arguments,
            environment: none.merging(environment) { $1 }
                .merging(["OUTPUT": output.path, "ERRORS": errors.path]) { $1 }
        )
        let status = try await process.waitForExit()
        return CommandRun(
            status: status,
            output: Array(try Data(contentsOf: output)),
            errors: Array(try Data(contentsOf: errors))
        )
    }

    /// The output as JSON; with a look at what a terminal would make of it.
    func json(_ location: SourceLocation = #_sourceLocation) throws -> JSONNode {
        expectHarmless(location)
        return try JSONDecoder().decode(JSONNode.self, from: Data(output))
    }

    /// Expects that nothing in either output acts on a terminal but the ends of lines.
    func expectHarmless(_ location: SourceLocation = #_sourceLocation) {
        for bytes in [output, errors] {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                Issue.record("the output is no UTF-8", sourceLocation: location)
                continue
            }
            let harmful = text.unicodeScalars.filter { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: scalar != "\n"
                default: false
                }
            }
            #expect(harmful.isEmpty, sourceLocation: location)
        }
    }

    /// Expects a single line on the standard error output and nothing on the other, and the status.
    func expectFailure(_ code: Int32, saying words: String..., location: SourceLocation = #_sourceLocation) {
        #expect(status == .exited(code), sourceLocation: location)
        #expect(output.isEmpty, sourceLocation: location)
        #expect(errorLines.count == 1, "\(errorText)", sourceLocation: location)
        #expect(errorText.hasPrefix("stratactl: "), sourceLocation: location)
        for word in words { #expect(errorText.contains(word), "\(errorText)", sourceLocation: location) }
        expectHarmless(location)
    }
}
