import ArgumentParser
import Strata
import StrataRedis
import StrataTesting

/// `load tags`: what invalidations by tag cost beside many instances, and a large set of tags.
struct TagsLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tags",
        abstract: "What invalidations by tag cost beside many instances, and reads of entries with very many tags.",
        discussion: """
            First one instance invalidates tags at a fixed rate beside others, each with a link of its own, all in this \
            process: printed are the questions that the others ask the server. Then an instance reads entries from Redis, \
            each with a tag of its own, all older than its link: printed is how often it asks for tags while it reads them \
            for the second time, and how long that takes beside entries without tags.
            """
    )

    @Option(help: "Instances that are told of invalidations.")
    var instances = 100
    @Option(help: "Invalidations a second.")
    var rate = 30
    @Option(help: "Seconds of invalidations.")
    var seconds = 10
    @Option(help: "Entries, each with a tag.")
    var entries = 1_000_000

    func run() async throws {
        try await RedisServer.withServer { try await measureQuestions($0) }
        try await RedisServer.withServer { try await measureWorkingSet($0) }
    }

    // MARK: Questions

    private func measureQuestions(_ server: RedisServer) async throws {
        var fleet: [TagsInstance] = []
        for number in 0...instances { fleet.append(try TagsInstance(server.url, "tags-\(number)")) }
        for instance in fleet { try await instance.level.ready(within: .seconds(60)) }
        guard let writer = fleet.first else { return }
        // What an instance asks when its link is new is no part of it.
        try await writer.level.invalidate(tags: ["first"])
        try await Task.rest(for: .seconds(2))
        let before = try await server.calls(of: "evalsha", "eval")
        let processor = try await server.processorSeconds()
        let start = ContinuousClock.now
        let count = rate * seconds
        for number in 0..<count {
            try await writer.level.invalidate(tags: ["tag-\(number % 100)"])
            try await ContinuousClock().sleep(until: start.advanced(by: .seconds(1) * (number + 1) / rate))
        }
        let asked = try await server.calls(of: "evalsha", "eval") - before - count
        let took = start.duration(to: .now) / .seconds(1)
        let others = Double(instances)
        Measurement(
            name: "tags.questions.per_instance_second",
            value: Double(asked) / others / took,
            unit: "1/s",
            comparedTo: "\(rate) invalidations a second"
        )
        .print()
        Measurement(
            name: "tags.invalidation.server_us",
            value: (try await server.processorSeconds() - processor) / Double(count) * 1e6,
            unit: "µs",
            comparedTo: "\(instances) instances that are told"
        )
        .print()
        for instance in fleet { await instance.redis.shutDown() }
    }

    // MARK: A large working set

    private func measureWorkingSet(_ server: RedisServer) async throws {
        let writer = try TagsInstance(server.url, "writer")
        try await writer.level.ready(within: .seconds(60))
        try await writer.write(entries)
        try await writer.level.invalidate(tags: ["another"])
        let reader = try TagsInstance(server.url, "reader")
        try await reader.level.ready(within: .seconds(60))
        // The table learns of the tags.
        _ = try await reader.read(entries, tagged: true)
        var shares: [Double] = []
        var ratios: [Double] = []
        for _ in 0..<3 {
            let plain = try await reader.read(entries, tagged: false)
            let before = try await server.calls(of: "hmget")
            let tagged = try await reader.read(entries, tagged: true)
            let asked = try await server.calls(of: "hmget") - before
            shares.append(Double(asked) / Double(tagged.batches))
            ratios.append(tagged.seconds / plain.seconds)
            Measurement(name: "tags.working_set.hit_ratio", value: tagged.hits, unit: "1").print()
            guard tagged.hits == 1 else { throw ValidationError("entries are missing: reads of misses are measured") }
            // Others are invalidated meanwhile.
            for number in 0..<100 { try await writer.level.invalidate(tags: ["other-\(number)"]) }
        }
        Measurement(
            name: "tags.working_set.asked.share",
            value: shares.median,
            unit: "1",
            comparedTo: "one question each batch of \(TagsInstance.batch)"
        )
        .print()
        Measurement(
            name: "tags.working_set.read.ratio",
            value: ratios.median,
            unit: "1",
            comparedTo: "as many entries without tags, same run"
        )
        .print()
        await writer.redis.shutDown()
        await reader.redis.shutDown()
    }
}

/// An instance of `load tags`: Redis without memory above it.
private struct TagsInstance {
    static let batch = 1_000

    let redis: RedisClient
    let level: RedisLevel<String, String>

    init(_ url: String, _ name: String) throws {
        redis = try RedisClient(try .patient(url, name: name))
        level = RedisLevel(redis, keyspace: "tags", codec: .text)
    }

    /// Writes entries with a tag each, and as many without.
    func write(_ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<256 {
                group.addTask {
                    for number in stride(from: task, to: count, by: 256) {
                        try await level.set("value", for: "with-\(number)", tags: ["tag-\(number)"])
                        try await level.set("value", for: "without-\(number)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Reads all, a batch at a time.
    func read(_ count: Int, tagged: Bool) async throws -> (seconds: Double, batches: Int, hits: Double) {
        let start = ContinuousClock.now
        var batches = 0
        var hits = 0
        for first in stride(from: 0, to: count, by: Self.batch) {
            let keys = (first..<min(first + Self.batch, count)).map { "\(tagged ? "with" : "without")-\($0)" }
            hits += try await level.get(keys).count { $0 != nil }
            batches += 1
        }
        return (start.duration(to: .now) / .seconds(1), batches, Double(hits) / Double(count))
    }
}
