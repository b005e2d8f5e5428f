import Strata
import StrataRedis
import StrataTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// An instance of a service in a process of its own: memory over Redis over a source that asks the test.
///
/// Orders come by lines: `get`, `set <value>`, `remove`, and `answer <value>` for the oldest fetch under way. What happens
/// goes out by lines: `ready`, `fetching`, `got <value>`, `done`, `failed <why>`. All is about one key. Others are about the
/// process: `exhaust` and `release` (descriptors), `block <path>` (every thread of the pool, until there is such a file),
/// `processor` (the milliseconds of processor time so far), `inheritable` (descriptors that a child would have).
final class CacheMember: Sendable {
    static let key = "k"

    private let cache: Composed<MemoryLevel<String, String>, FetchingLevel<String, String>>
    private let answers: AsyncStream<String>.Continuation

    /// Descriptors that were taken so that none is left.
    private let taken = Locked<[Int32]>([])

    // Where it is patient nothing of the client gives up on a busy machine: a call whose budget is spent on the way to its
    // store does not store. Otherwise all is at its default.
    init(url: String, keyspace: String, leaseMilliseconds: Int, isPatient: Bool = true) throws {
        var configuration = try RedisConfiguration(url: url)
        if isPatient {
            configuration.connectTimeout = .seconds(20)
            configuration.commandTimeout = .seconds(20)
            configuration.redisBudget = .seconds(20)
            configuration.breaker.slowAfter = .seconds(20)
            configuration.healthWindow = .seconds(60)
            configuration.linkPingTimeout = .seconds(60)
        }
        let (stream, feed) = AsyncStream.makeStream(of: String.self)
        answers = feed
        let level = RedisLevel<String, String>(
            try RedisClient(configuration),
            keyspace: Keyspace(keyspace),
            codec: .text
        )
        let options = LeaseOptions(duration: .milliseconds(leaseMilliseconds))
        cache = MemoryLevel<String, String>(limit: .entries(10))
            .compose(
                level.fetching(options) { _ in
                    Self.say("fetching")
                    // One fetch is under way at a time.
                    for await answer in stream { return answer }
                    return nil
                }
            )
    }

    /// Carries out orders until the input ends.
    func run() async {
        Self.say("ready")
        let orders = AsyncStream { feed in
            // Reading a line blocks, so a thread of its own does it.
            let reader = Task.detached {
                try? await BlockingThread.run { _ in
                    while let line = readLine() { feed.yield(line) }
                }
                feed.finish()
            }
            feed.onTermination = { _ in reader.cancel() }
        }
        await withTaskGroup { group in
            for await line in orders {
                let words = line.split(separator: " ", maxSplits: 1).map(String.init)
                if words[0] == "answer" {
                    answers.yield(words[1])
                } else {
                    group.addTask { await self.carryOut(words) }
                }
            }
            group.cancelAll()
        }
    }

    private func carryOut(_ words: [String]) async {
        do {
            switch words[0] {
            case "get": Self.say("got \(try await cache.get(Self.key) ?? "nothing")")
            case "set":
                try await cache.set(words[1], for: Self.key)
                Self.say("done")
            case "exhaust":
                exhaust()
                Self.say("done")
            case "release":
                for number in taken.withLock({ exchange(&$0, with: []) }) { close(number) }
                Self.say("done")
            case "block":
                Self.say("blocking")
                await Self.block(until: words[1])
                Self.say("unblocked")
            case "processor":
                Self.say("processor \(clock() / (CLOCKS_PER_SEC / 1_000))")
            case "inheritable":
                let open = (Int32(3)..<256).filter { fcntl($0, F_GETFD) == 0 }
                Self.say("inheritable \(open.count) of \((Int32(3)..<256).count { fcntl($0, F_GETFD) >= 0 })")
            default:
                try await cache.remove(Self.key)
                Self.say("done")
            }
        } catch {
            Self.say("failed \(error)")
        }
    }

    /// Takes every descriptor that is left.
    private func exhaust() {
        while true {
            let number = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard number >= 0 else { return }
            taken.withLock { $0.append(number) }
        }
    }

    /// Holds every thread of the pool, as a service that blocks in its own code does.
    private static func block(until path: String) async {
        await withTaskGroup { group in
            for _ in 0..<64 {
                group.addTask { while unsafe access(path, F_OK) != 0 { usleep(10_000) } }
            }
        }
    }

    private static func say(_ line: String) {
        // Not by `print` and a flush of all streams: that would wait for the thread which is reading a line.
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
