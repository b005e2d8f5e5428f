import Foundation
import StrataTesting

/// One process of a load program, as the driver sees it: orders go in, answers come out, one JSON object a line.
final class Member<Order: Encodable & Sendable, Answer: Decodable & Sendable>: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let process: InstanceProcess

    /// Starts this program again with other arguments.
    ///
    /// - Parameters:
    ///   - arguments: The subcommand and its options.
    ///   - url: The server, in the environment, where other users of the machine cannot see a password in it.
    /// - Throws: `HarnessError` when the system refuses.
    init(_ arguments: [String], url: String) async throws {
        process = try await InstanceProcess.start(
            // This very file: beside it may lie another build of the same name.
            Bundle.main.executablePath ?? CommandLine.arguments[0],
            arguments: arguments,
            environment: [Orders.urlVariable: url]
        )
    }

    func send(_ order: Order) async throws {
        try await process.send(String(decoding: JSONEncoder().encode(order), as: UTF8.self))
    }

    /// The next answer.
    func answer() async throws -> Answer {
        guard let answer = try await answerIfAny() else {
            throw Failure(description: "process \(process.pid) has ended, and an answer was expected")
        }
        return answer
    }

    /// The next answer; `nil` when the process has ended.
    ///
    /// What is no answer is passed on: the account of a crash comes by the same way.
    func answerIfAny() async throws -> Answer? {
        for await line in process.lines {
            if let answer = try? JSONDecoder().decode(Answer.self, from: Data(line.utf8)) { return answer }
            FileHandle.standardError.write(Data("process \(process.pid): \(line)\n".utf8))
        }
        return nil
    }

    func stop() async {
        await process.endInput()
        _ = try? await process.stop()
    }
}
