import Strata
import StrataRedis
import StrataTestSupport
import StrataTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The process that tests start, freeze and kill.
///
/// The first argument says what it does.
@main
struct StrataTestingInstance {
    static func main() async throws {
        let arguments = CommandLine.arguments
        switch arguments.dropFirst().first {
        case "echo":
            while let line = readLine() {
                print("echo \(line)")
                fflush(nil)
            }
        case "count":
            for number in 0..<(Int(arguments[2]) ?? 0) {
                print(number)
            }
        case "descriptors":
            // Looked for one by one: listing /dev/fd would open one more.
            print((Int32(0)..<256).filter { fcntl($0, F_GETFD) >= 0 }.map(String.init).joined(separator: " "))
        case "flags":
            try await listInheritable()
        case "own-everything":
            try await ownEverything()
        case "member":
            guard arguments.count == 4, let duration = Int(arguments[3]), let url = unsafe getenv("STRATA_MEMBER_URL")
            else {
                exit(64)
            }
            try await CacheMember(
                url: unsafe String(cString: url),
                keyspace: arguments[2],
                leaseMilliseconds: duration,
                isPatient: unsafe getenv("STRATA_MEMBER_AT_DEFAULTS") == nil
            )
            .run()
            exit(0)
        case "actions":
            guard arguments.count == 6, let writer = Int(arguments[4]), let count = Int(arguments[5]) else { exit(64) }
            try await applyActions(url: arguments[2], keyspace: arguments[3], writer, count)
            exit(0)
        case "hibernate":
            guard arguments.count == 3 else { exit(64) }
            try await hibernate(to: arguments[2])
        case "behind":
            guard arguments.count == 5, let limit = Int(arguments[4]) else { exit(64) }
            try await writeBehind(url: arguments[2], keyspace: arguments[3], limit)
            exit(0)
        case "refresh":
            guard arguments.count == 4 else { exit(64) }
            try await refresh(url: arguments[2], name: arguments[3])
            exit(0)
        case "shared":
            let server = try await RedisServer.shared()
            print(server.isExternal, server.url)
            print(try await server.command("PING"))
            do {
                try await server.stop()
                print("stopped")
            } catch let error as HarnessError {
                print(error.code)
            }
        case let file? where file.hasSuffix("/redis.conf"):
            // A server that never answers.
            while true { pause() }
        default:
            exit(64)
        }
    }

    /// Applies actions to a list in memory over Redis.
    private static func applyActions(url: String, keyspace: String, _ writer: Int, _ count: Int) async throws {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.healthWindow = .seconds(60)
        let level = RedisLevel<String, [Int]>(try RedisClient(configuration), keyspace: Keyspace(keyspace))
        let cache = MemoryLevel<String, [Int]>(limit: .entries(10)).compose(level)
        try await ActionWriter.work(writer, count: count, on: cache) { line in
            print(line)
            fflush(nil)
        }
    }

    /// Writes memory to a file, again and again.
    private static func hibernate(to path: String) async throws {
        let cache = MemoryLevel<Int, String>(limit: .entries(3_000))
            .compose(Source { key in "\(key) " + String(repeating: "x", count: 1_000) })
        _ = try await cache.warm(from: 0..<3_000)
        while true {
            let limits = HibernationLimits(duration: .seconds(600))
            let report = try await cache.hibernate(to: path, codec: .text, limits: limits)
            print("written", report.written)
            fflush(nil)
        }
    }

    /// Sets one key after the other, and says each that was taken; the source lies in Redis, too.
    private static func writeBehind(url: String, keyspace: String, _ limit: Int) async throws {
        let redis = try RedisClient(url)
        let level = RedisLevel<Int, [Int]>(redis, keyspace: Keyspace(keyspace))
        var options = WriteBehindOptions()
        options.delay = .milliseconds(5)
        options.limit = limit
        options.waitLimit = .seconds(60)
        let cache = MemoryLevel<Int, [Int]>(limit: .entries(100)).compose(level)
            .writingBehindSeveral(options) { _ in
                exit(65)
            } write: { writes in
                for (key, value) in writes {
                    try await redis.set(RedisKey("source:\(key)"), [UInt8(value?.count ?? 0)])
                }
            }
        for number in 1... {
            try await cache.set([number], for: number)
            print(number)
            fflush(nil)
        }
    }

    /// Refreshes a key on a schedule when its turn has come, and says each round.
    private static func refresh(url: String, name: String) async throws {
        let redis = try RedisClient(url)
        let options = RefreshOptions(leaseDuration: .seconds(4), lookInterval: .milliseconds(20))
        await RedisLevel<Int, Int>(redis, keyspace: Keyspace(name)).fetching { $0 }
            .refreshAll(every: .milliseconds(20), as: name, over: redis, options) {
                print("round")
                fflush(nil)
                return [1]
            }
            .run()
    }

    /// Opens one of each and lists the descriptors that a careless child would inherit.
    private static func listInheritable() async throws {
        let server = try await ScriptedServer.start(answering: { _, _ in [.send(text: "+OK\r\n")] })
        let proxy = try await FaultProxy.start(to: server.endpoint)
        let redis = try await RedisServer.start()
        let process = try await InstanceProcess.start("sleep", arguments: ["1000"])
        let endpoint = proxy.endpoint
        let inheritable = try await BlockingThread.run { _ in
            var connection = try RawConnection(to: endpoint, until: .now + .seconds(30))
            _ = try connection.command(["PING"])
            return (Int32(3)..<256).filter { fcntl($0, F_GETFD) == 0 }
        }
        print(inheritable.map(String.init).joined(separator: " "))
        withExtendedLifetime((server, proxy, redis, process)) {}
        exit(0)
    }

    /// Starts one of each, says what there is to clean up, and waits for its end, which the test decides on.
    private static func ownEverything() async throws {
        let server = try await RedisServer.start()
        let dead = try await RedisServer.start()
        let proxy = try await FaultProxy.start(to: server.endpoint, at: .unixSocket)
        let sleeper = try await InstanceProcess.start("sleep", arguments: ["1000"])
        let stopped = try await RedisServer.start()
        try await stopped.stop()
        try await dead.kill()
        try await server.pause()
        print("process", server.pid ?? -1)
        print("process", sleeper.pid)
        print("folder", server.folder ?? "")
        print("folder", dead.folder ?? "")
        print("folder", proxy.endpoint.url.dropFirst("unix://".count).dropLast("/socket".count))
        print("ready")
        fflush(nil)
        let line = readLine()
        if line == "crash" { fatalError("on request") }
        withExtendedLifetime((server, dead, proxy, sleeper)) {}
        exit(0)
    }
}
