import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What others have put under a lease's name", .timeLimit(.minutes(5)))
struct ForeignLeaseTests {
    /// What lies there, and for how many milliseconds; for ever when that is `nil`.
    struct Record: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let milliseconds: Int?
    }

    private static let held = Array("T0123456789abcdefsomebody".utf8)
    private static let century = 100 * 365 * 86_400_000

    /// Nothing of this is what the library writes, or it lies there for longer.
    private static let unbelieved: [Record] = [
        Record(testDescription: "a lease without an end", bytes: held, milliseconds: nil),
        Record(testDescription: "a lease of an hour", bytes: held, milliseconds: 3_600_000),
        Record(testDescription: "a failure for a century", bytes: Array("F1:Outage".utf8), milliseconds: century),
        Record(testDescription: "a failure without an end", bytes: Array("F1:Outage".utf8), milliseconds: nil),
        Record(
            testDescription: "a megabyte of escapes",
            bytes: Array("F1:".utf8) + [UInt8](repeating: 0x1b, count: 1 << 20),
            milliseconds: 100_000
        ),
        Record(
            testDescription: "a megabyte of lease",
            bytes: held + [UInt8](repeating: 0x1b, count: 1 << 20),
            milliseconds: 1_000
        ),
        Record(testDescription: "an empty text", bytes: [], milliseconds: nil),
        Record(testDescription: "what begins as a failure", bytes: Array("Foo".utf8), milliseconds: 1_800_000),
        Record(testDescription: "a failure without a number", bytes: Array("F:".utf8), milliseconds: 90_000),
    ]

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    private func instance(
        of server: RedisServer,
        options: LeaseOptions = .lasting
    ) throws -> FetchingLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            .fetching(options) { [source] _ in try await source.fetch() }
    }

    private func put(_ record: Record, _ server: RedisServer) async throws {
        let command = [Array("SET".utf8), names.lease.bytes, record.bytes]
        let end = record.milliseconds.map { [Array("PX".utf8), Array(String($0).utf8)] } ?? []
        try await server.command(bytes: command + end)
    }

    @Test("is not believed: the value is fetched and stored at once", arguments: unbelieved)
    func fetched(record: Record) async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let cache = try instance(of: server)
            try await put(record, server)
            #expect(try await cache.get("k") == "value")
            #expect(source.calls == 1)
            #expect(cache.level.statistics.waits == 0)
            #expect(cache.level.statistics.stores == 1)
        }
    }

    @Test("does not keep work from being done", arguments: unbelieved)
    func worked(record: Record) async throws {
        try await RedisServer.withServer { server in
            try await put(record, server)
            let redis = try TestServer.client(of: server)
            #expect(try await redis.withLease("k", in: keyspace) { _ in "done" } == "done")
        }
    }

    @Test("a failure, and a value, of the same name keep no work from being done")
    func besideLease() async throws {
        try await RedisServer.withServer { server in
            let failure = Record(testDescription: "", bytes: Array("F1:Outage".utf8), milliseconds: 100_000)
            try await put(failure, server)
            try await server.command(bytes: [Array("SET".utf8), names.value.bytes, Array("something".utf8)])
            let redis = try TestServer.client(of: server)
            #expect(try await redis.withLease("k", in: keyspace) { _ in "done" } == "done")
        }
    }

    @Test("a list under a lease's name is replaced")
    func list() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let cache = try instance(of: server)
            try await server.command(bytes: [Array("RPUSH".utf8), names.lease.bytes, [1]])
            #expect(try await cache.get("k") == "value")
            #expect(cache.level.statistics.stores == 1)
        }
    }

    @Test(
        "numbers at the ends of their range do not end the process",
        arguments: ["9223372036854775807", "999999999999999999999"]
    )
    func attempts(number: String) async throws {
        try await RedisServer.withServer { server in
            source.fail(true)
            source.gate.open()
            let options = LeaseOptions(
                duration: .seconds(60),
                renewalLimit: .seconds(600),
                failureBackOff: .milliseconds(100) ... .seconds(600)
            )
            let cache = try instance(of: server, options: options)
            // Its back-off is over.
            let record = Record(testDescription: "", bytes: Array("F\(number):x".utf8), milliseconds: 30_000)
            try await put(record, server)
            await #expect(throws: CountingSource.Failure()) { try await cache.get("k") }
            // In the back-off this process tells the same, and others that the source has failed.
            await #expect(throws: CountingSource.Failure()) { try await cache.get("k") }
            let other = try instance(of: server, options: options)
            let error = await #expect(throws: CacheError.self) { try await other.get("k") }
            #expect(error?.code == .sourceFailed)
        }
    }

    @Test("a failure's text cannot act on a terminal, nor fill a log")
    func text() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server)
            let text = "\u{1b}]0;title\u{7}\u{202e}" + String(repeating: "\u{1b}", count: 300)
            try await put(
                Record(testDescription: "", bytes: Array("F1:\(text)".utf8), milliseconds: 100_000),
                server
            )
            let error = await #expect(throws: CacheError.self) { try await cache.get("k") }
            let message = try #require(error).message
            #expect(message.count < 1_000)
            let isPlain = message.unicodeScalars.allSatisfy { scalar in
                let category = scalar.properties.generalCategory
                return category != .control && category != .format
            }
            #expect(isPlain)
        }
    }
}
