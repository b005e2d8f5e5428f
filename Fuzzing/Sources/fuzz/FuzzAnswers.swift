internal import Dispatch
internal import StrataTesting

@testable import Strata
@testable import StrataRedis

/// A client and what stands on it, against a server that answers every command as the input says.
///
/// Wherever a reply is made something of (scripts, marks, times, records, listings), it comes by here. Whatever the answers
/// are, the process lives, and no call hangs.
func fuzzAnswers(_ bytes: [UInt8]) {
    var input = FuzzInput(bytes)
    let calls = (0..<input.choice(4) + 1).map { _ in (input.byte(), input.byte()) }
    let told = input.run()
    let server = AnsweringServer.next()
    server.answers.withLock { $0 = Answers(told: FuzzInput(told), asked: input) }
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        await run(calls, at: server.url)
        done.signal()
    }
    done.wait()
}

/// A server for a few hundred inputs: it keeps a record of what it was asked.
private struct AnsweringServer: Sendable {
    let answers: SharedAnswers
    let url: String

    private static let current = Locked<(server: ScriptedServer, answers: SharedAnswers, uses: Int)?>(nil)

    static func next() -> AnsweringServer {
        if let (server, answers, uses) = current.withLock({ $0 }), uses < 300 {
            current.withLock { $0?.uses += 1 }
            return AnsweringServer(answers: answers, url: server.url)
        }
        let answers = SharedAnswers()
        let started = DispatchSemaphore(value: 0)
        Task.detached {
            let server = try await ScriptedServer.start(at: .unixSocket) { command, _ in answers.steps(for: command) }
            current.withLock { $0 = (server, answers, 0) }
            started.signal()
        }
        started.wait()
        return next()
    }
}

/// The answers to come, for all connections.
private final class SharedAnswers: Sendable {
    private let answers = Locked(Answers(told: FuzzInput([]), asked: FuzzInput([])))

    func withLock(_ body: (inout Answers) -> Void) { answers.withLock { body(&$0) } }

    func steps(for command: [String]) -> [ScriptedServer.Step] { answers.withLock { $0.steps(for: command) } }
}

/// What the source throws when it is to fail.
private struct Refused: Error {}

private func run(_ calls: [(UInt8, UInt8)], at url: String) async {
    guard var configuration = try? RedisConfiguration(url: url) else { fatalError("\(url) is no URL") }
    // Long enough for a machine that is busy, short enough for answers that do not come.
    configuration.commandTimeout = .milliseconds(60)
    configuration.redisBudget = .milliseconds(120)
    configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(2)
    guard let redis = try? RedisClient(configuration) else { fatalError("no client of \(url)") }
    let level = RedisLevel<String, String>(
        redis,
        keyspace: "fuzz",
        freshness: FreshnessPolicy(
            freshFor: .seconds(60),
            staleWhileRevalidate: .seconds(60),
            staleIfError: .seconds(60),
            hardTimeout: .milliseconds(200),
            completionLimit: .milliseconds(200)
        )
    )
    for (call, argument) in calls { await make(call, argument, redis, level) }
    await redis.shutDown(within: .zero)
}

private func make(_ call: UInt8, _ argument: UInt8, _ redis: RedisClient, _ level: RedisLevel<String, String>) async {
    let key = ["a", "b", "c"][Int(argument % 3)]
    let options = LeaseOptions(
        duration: .milliseconds(50),
        renewalLimit: .milliseconds(50),
        waitLimit: .milliseconds(50)
    )
    let fails = argument & 0x40 != 0
    let fetching = level.fetching(options) { key in
        if fails { throw Refused() }
        return key
    }
    switch call % 14 {
    case 0, 1, 2: _ = try? await fetching.get(key)
    case 3: _ = try? await fetching.get(["a", "b", "c"], .ordinary)
    case 4: try? await level.set("value", for: key, tags: ["x", "y"])
    case 5: try? await level.remove(key)
    case 6: try? await level.invalidate(tags: ["x"])
    case 7: try? await level.clear()
    case 8: _ = try? await level.sweep(rate: .max)
    case 9: _ = try? await level.get(["a", "b"], .ordinary)
    case 10: await inspect(KeyspaceInspector(redis, "fuzz"), argument)
    case 11: await ask(redis, argument)
    case 12: _ = try? await redis.withLease("work", options: options) { $0.isHeld }
    default:
        let composed = MemoryLevel<String, String>(limit: .entries(8)).compose(fetching)
        for _ in 0..<2 { _ = try? await composed.get(key) }
    }
    await fetching.drain(within: .milliseconds(100))
}

private func inspect(_ inspector: KeyspaceInspector, _ argument: UInt8) async {
    let redis = inspector.redis
    switch argument % 6 {
    case 0:
        let entry = try? await inspector.entry(of: InspectedKey([UInt8(ascii: "a")], in: inspector.keyspace))
        _ = entry.flatMap { $0 }?.state
    case 1: _ = try? await inspector.leases(limit: 3)
    case 2: _ = try? await inspector.counts()
    case 3: _ = try? await KeyspaceSurvey.take(redis, prefix: nil).rows.map(\.estimatedBytes)
    case 4: _ = try? await ServerReport.take(redis, samples: 1)
    default: _ = try? await inspector.clear()
    }
}

private func ask(_ redis: RedisClient, _ argument: UInt8) async {
    let key: RedisKey = "plain"
    switch argument % 12 {
    case 0: _ = try? await redis.time()
    case 1: _ = try? await redis.info()
    case 2: _ = try? await redis.timeToLive(of: key)
    case 3: _ = try? await redis.scan()
    case 4: _ = try? await redis.exists(key)
    case 5: _ = try? await redis.length(of: key)
    case 6: _ = try? await redis.get([key, key])
    case 7: _ = try? await redis.publish([1], to: [2])
    case 8: _ = try? await redis.expire(key, in: .seconds(1))
    case 9: _ = try? await redis.getRange(key, from: 0, through: 9)
    case 10: _ = try? await redis.set(key, [1], if: .absent)
    default: _ = try? await redis.delete(key)
    }
}
