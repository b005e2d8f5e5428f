import ArgumentParser
import Foundation
import StrataTesting

/// The main job on real input: several processes, one Redis, each document fetched once.
struct Demonstration: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demonstration",
        abstract: "Starts a fleet, loads it, changes a document, and checks what was promised.",
        discussion: """
            Exit status: 0 when every promise was kept, 1 when one was broken (it is named), 64 for wrong usage.
            The server is a private one, or the one in STRATA_REDIS_URL.
            """
    )

    @Option(help: "The folder whose text files are the documents.")
    var directory = FileManager.default.currentDirectoryPath
    @Option(help: "Processes.")
    var instances = 4
    @Option(help: "Tasks in each process.")
    var tasks = 32
    @Option(help: "Requests of each task.")
    var requests = 500
    @Option(help: "Requests a second of each process: a load that a service has, not the most that the machine can do.")
    var rate = 2_000
    @Option(help: "Documents at most.")
    var documents = 400
    @Option(help: "How long the memory of an instance keeps a document at most, in milliseconds.")
    var memory = 60_000
    @Option(help: "Seed of the random choices.")
    var seed: UInt64 = 1

    func run() async throws {
        let copy = try ScratchCopy(of: directory, most: documents)
        defer { copy.remove() }
        guard !copy.paths.isEmpty else { throw ValidationError("there is no text file below \(directory)") }
        let server = try await RedisServer.shared()
        let external = ProcessInfo.processInfo.environment["STRATA_REDIS_URL"]
        Output.line(
            "Redis:     \(external == nil ? "a private server at \(server.url)" : "the server of STRATA_REDIS_URL")"
        )
        Output.line("Documents: \(copy.paths.count) files of \(directory)")
        Output.line(
            "Fleet:     \(instances) processes of \(tasks) tasks, \(requests) requests each, \(rate) a second a process, in Zipf order\n"
        )

        let fleet = try await RunningFleet(
            count: instances,
            url: external ?? server.url,
            folder: copy.folder,
            memoryMilliseconds: memory
        )
        do {
            let reports = try await fleet.run(tasks: tasks, requests: requests, rate: rate, seed: seed)
            let summary = FleetSummary(reports: reports, documents: copy.paths.count)
            Output.line(summary.table)
            var broken = summary.brokenPromises
            broken += try await changeDocument(copy, fleet)
            await fleet.stop()
            if !server.isExternal { try await server.stop() }
            for promise in broken { Output.line("BROKEN: \(promise)") }
            guard broken.isEmpty else { throw ExitCode(1) }
            Output.line("Every promise was kept.")
        } catch {
            await fleet.stop()
            throw error
        }
    }

    /// Changes a file, lets one instance remove it from the cache, and waits until every instance tells the new
    /// content.
    private func changeDocument(_ copy: ScratchCopy, _ fleet: RunningFleet) async throws -> [String] {
        let path = copy.paths[0]
        for instance in fleet.instances { _ = try await instance.ask(path) }
        try copy.append("\n# a line that was not there before\n", to: path)
        let expected = try await DocumentSource(folder: copy.folder).summary(of: path)
        try await fleet.instances[0].remove(path)
        let removed = ContinuousClock.now

        var broken: [String] = []
        for (number, instance) in fleet.instances.enumerated() {
            // The instance that has removed the document sees the change at once; the others are told. Should the link
            // be cut, the stated bound is 3 s.
            let patience = number == 0 ? Duration.zero : .seconds(3)
            var answer = try await instance.ask(path)
            while answer != expected, ContinuousClock.now < removed.advanced(by: patience) {
                answer = try await instance.ask(path)
            }
            let seen = ContinuousClock.now - removed
            Output.line("Change:    instance \(number) tells the new content after \(milliseconds(seen)) ms")
            if answer != expected {
                broken.append(
                    "instance \(number) still told the old content \(milliseconds(seen)) ms after the removal"
                )
            }
        }
        return broken
    }

    private func milliseconds(_ duration: Duration) -> String {
        String(format: "%.1f", duration / .milliseconds(1))
    }
}
