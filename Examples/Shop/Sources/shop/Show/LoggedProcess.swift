import Foundation
import StrataTesting

/// A process of the show; what it logs goes into a file, so that the show stays readable.
struct LoggedProcess: Sendable {
    let name: String
    let process: InstanceProcess
    private let path: String

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The program, by its path or as it is found in `PATH`.
    ///   - arguments: Its arguments.
    ///   - environment: Variables that are set for it.
    ///   - name: What the show calls it.
    ///   - folder: Where the file is made.
    /// - Throws: `HarnessError` when the program is not there, or the system refuses.
    init(
        program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        as name: String,
        loggingTo folder: String
    ) async throws {
        self.name = name
        path = "\(folder)/\(name).log"
        // The shell gives its process id away to the program, so that signals reach the program itself.
        process = try await InstanceProcess.start(
            "/bin/sh",
            arguments: ["-c", #"exec "$@" 2>>"$0""#, path, program] + arguments,
            environment: environment
        )
    }

    /// Starts a program that was built with this one.
    init(
        product: String,
        _ arguments: [String],
        environment: [String: String],
        as name: String,
        loggingTo folder: String
    ) async throws {
        try await self.init(
            program: InstanceProcess.builtProduct(named: product),
            arguments,
            environment: environment,
            as: name,
            loggingTo: folder
        )
    }

    /// What it has logged.
    var log: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    /// The last lines of the log.
    func logTail(lines: Int = 20) -> [String] {
        log.split(separator: "\n").suffix(lines).map { "\(name): \($0)" }
    }

    /// Asks it to end as an orchestrator does, and gives it time to finish what it does.
    func stop() async throws -> ExitStatus { try await process.stop(grace: .seconds(10)) }
}
