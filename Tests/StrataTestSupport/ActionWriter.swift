package import Strata
package import StrataTesting

/// Processes that each add their numbers to one list, in order, and are killed meanwhile.
package enum ActionWriter {
    private static let key = "list"
    private static let span = 10_000

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// What the process does: goes on behind the last of its numbers in the list, and says each that is stored.
    package static func work(
        _ writer: Int,
        count: Int,
        on cache: some AtomicLevel<String, [Int]>,
        _ say: (String) -> Void
    ) async throws {
        let list = try await cache.get(key) ?? []
        let from = list.last { $0 / span == writer }.map { $0 % span + 1 } ?? 0
        say("from \(from)")
        for number in from..<max(from, count) {
            try await cache.apply(ListActions().addLast(writer * span + number), to: key, within: .seconds(60))
            say("\(number)")
        }
        say("done")
    }

    /// Starts such a process, kills it some times, and returns when one has come to the end.
    ///
    /// - Parameters:
    ///   - kills: How often it is killed, each time in the middle of its actions.
    ///   - start: Starts the process.
    /// - Throws: ``Failure`` when what a killed process had said is lost.
    package static func run(kills: Int, start: () async throws -> InstanceProcess) async throws {
        var next = 0
        for round in 0...kills {
            let process = try await start()
            var left = round == kills ? Int.max : 37 + 29 * round
            var isDone = false
            for await line in process.lines {
                if line.hasPrefix("from ") {
                    // A process goes on until it is dead, so it may have stored more than was heard of; never less.
                    guard let from = Int(line.dropFirst(5)), from >= next else {
                        throw Failure(description: "said \(next), went on \(line)")
                    }
                    next = from
                } else if line == "done" {
                    isDone = true
                } else {
                    guard Int(line) == next else { throw Failure(description: "\(line) in place of \(next)") }
                    next += 1
                    left -= 1
                    if left == 0 { break }
                }
            }
            if isDone { return }
            guard left == 0 else { throw Failure(description: "a process ended behind \(next)") }
            try await process.kill()
        }
    }

    /// What is wrong with a list to which so many have added as many numbers each: nothing, where none is lost or doubled.
    package static func faults(in list: [Int], writers: ClosedRange<Int>, count: Int) -> [String] {
        var faults: [String] = list.count == writers.count * count ? [] : ["\(list.count) elements"]
        for writer in writers where list.filter({ $0 / span == writer }).map({ $0 % span }) != Array(0..<count) {
            faults.append("writer \(writer)")
        }
        return faults
    }
}
