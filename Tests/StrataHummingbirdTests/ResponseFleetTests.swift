#if Hummingbird
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import StrataHTTP
@testable import StrataHummingbird

@Suite("Responses that several instances share", .timeLimit(.minutes(5)))
struct ResponseFleetTests {
    /// Instances of one service, each with a client and a memory of its own.
    private func withInstances<Outcome: Sendable>(
        of server: RedisServer,
        _ body: ([ResponseCache]) async throws -> Outcome
    ) async throws -> Outcome {
        let keyspace = TestRedis.keyspace("responses")
        let clients = try (0..<2).map { _ in try TestRedis.client(of: server) }
        for client in clients {
            try await RedisLevel<HTTPResource, HTTPContent>(client, keyspace: keyspace, codec: .cbor)
                .ready(within: .seconds(60))
        }
        let caches = clients.map { ResponseCache($0, keyspace: keyspace, collapseLimit: .seconds(300)) }
        let outcome = try await body(caches)
        for client in clients { await client.shutDown() }
        return outcome
    }

    /// What a scenario comes to when no lease ends before its time.
    ///
    /// A lease to fill Redis lasts two seconds unless it is renewed, and beside other load this process may stand still
    /// for longer. Then others run the handler, too. So a scenario expects nothing itself, and is begun anew, with
    /// other instances, after such a pause.
    ///
    /// - Parameter scenario: Gets the instances, and a closure that says whether a lease has ended so; returns `nil`
    ///   when it cannot go on after that.
    /// - Returns: What a scenario returned during which no lease ended so.
    /// - Throws: What the scenario throws, or the server.
    private func outcome<Outcome: Sendable>(
        of scenario: ([ResponseCache], _ isDisturbed: () async throws -> Bool) async throws -> Outcome?
    ) async throws -> Outcome {
        try await RedisServer.withServer { server in
            let client = try TestRedis.client(of: server)
            while true {
                // Nothing else expires here.
                try await server.command("CONFIG", "RESETSTAT")
                let outcome = try await withInstances(of: server) { caches in
                    try await scenario(caches) { try await client.info("stats")["expired_keys"] != "0" }
                }
                guard let outcome, try await client.info("stats")["expired_keys"] == "0" else { continue }
                await client.shutDown()
                return outcome
            }
        }
    }

    private static func made(_ text: String, _ fields: HTTPTypes.HTTPFields) -> Response {
        Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    @Test(
        "of forty requests to two instances one runs the handler, and all get its response",
        arguments: [false, true]
    )
    func once(varies: Bool) async throws {
        let fields: HTTPTypes.HTTPFields =
            varies ? [.cacheControl: "max-age=60", .vary: "Accept"] : [.cacheControl: "max-age=60"]
        let found = try await outcome { caches, _ async throws -> (texts: [String], runs: Int, collapsed: Int)? in
            let gate = AsyncGate()
            let handler = Handler { _, number in
                try await gate.pass()
                return Self.made("\(number)", fields)
            }
            let texts = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        try await handler.application(caches[number % 2]).test(.router) { try await $0.get().text }
                    }
                }
                await gate.arrivals()
                while caches.reduce(0, { $0 + $1.responses.exchanges.waiting }) < 40 { try await nextTurn() }
                gate.open()
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            return (texts, handler.runs, caches.reduce(0) { $0 + $1.statistics.collapsed })
        }
        #expect(found.texts == Array(repeating: "1", count: 40) && found.runs == 1)
        #expect(found.collapsed == 39)
    }

    @Test("a stale response is served by all while one instance makes a new one")
    func staleWindow() async throws {
        let found = try await outcome { caches, isDisturbed async throws -> (texts: [String], runs: Int)? in
            let gate = AsyncGate()
            let handler = Handler { _, number in
                if number == 2 { try await gate.pass() }
                return Self.made("\(number)", [.cacheControl: "max-age=\(number - 1), stale-while-revalidate=600"])
            }
            return try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                for cache in caches {
                    group.addTask { await cache.run() }
                    await cache.responses.refreshes.wait { isRunning, _ in isRunning }
                }
                let clients = caches.map { handler.application($0) }
                func get(_ number: Int) async throws -> String {
                    try await clients[number].test(.router) { try await $0.get().text }
                }
                var texts = [try await get(0)]
                // Without the first response in Redis the next request would itself wait at the gate.
                guard try await !isDisturbed() else { return nil }
                texts.append(try await get(0))
                await gate.arrivals()
                for _ in 0..<3 {
                    for number in 0..<2 { texts.append(try await get(number)) }
                }
                // The other instance has looked, and leaves it to the first.
                await caches[1].responses.refreshes.wait { _, pending in pending == 0 }
                let runs = handler.runs
                gate.open()
                await caches[0].responses.refreshes.wait { _, pending in pending == 0 }
                for number in 0..<2 {
                    while try await get(number) == "1" { try await nextTurn() }
                }
                return (texts, runs)
            }
        }
        #expect(found.texts == Array(repeating: "1", count: 8) && found.runs == 2)
    }

    @Test(
        "a handler that an invalidation overtakes is not kept by any instance",
        arguments: ["tag", "method", "varying"]
    )
    func overtaken(by change: String) async throws {
        let gate = AsyncGate()
        let handler = Handler { request, number in
            guard request.method == .get else { return Response(status: .noContent) }
            if number == 1 { try await gate.pass() }
            var fields: HTTPTypes.HTTPFields = [.cacheControl: "max-age=600"]
            fields[.cacheTag] = "t"
            if change == "varying" { fields[.vary] = "Accept" }
            return Self.made(number == 1 ? "old" : "new", fields)
        }
        try await withInstances(of: RedisServer.shared()) { caches in
            let first = Task {
                try await handler.application(caches[0]).test(.router) { try await $0.get().text }
            }
            await gate.arrivals()
            if change == "method" {
                try await handler.application(caches[1])
                    .test(.router) { _ = try await $0.execute(uri: "/", method: .put) }
            } else {
                try await caches[1].invalidate(tag: "t")
            }
            gate.open()
            #expect(try await first.value == "old")
            for cache in caches {
                #expect(try await handler.application(cache).test(.router) { try await $0.get().text } == "new")
            }
        }
    }

    @Test("what one instance invalidates, the other serves no longer")
    func invalidated() async throws {
        let texts = try await outcome { caches, _ async throws -> [String]? in
            let handler = Handler { _, number in Self.made("\(number)", [.cacheControl: "max-age=600"]) }
            func get(_ number: Int) async throws -> String {
                try await handler.application(caches[number]).test(.router) { try await $0.get().text }
            }
            var texts = [try await get(0), try await get(1)]
            try await caches[0].remove("http://localhost/")
            while try await get(1) == "1" { try await nextTurn() }
            texts.append(try await get(0))
            return texts
        }
        #expect(texts == ["1", "1", "2"])
    }

    @Test("a caller that goes away takes the handler from no other")
    func leaving() async throws {
        let gate = AsyncGate()
        let handler = Handler { _, number in
            try await gate.pass()
            return Self.made("\(number)", [.cacheControl: "max-age=60"])
        }
        try await withInstances(of: RedisServer.shared()) { caches in
            let application = handler.application(caches[0])
            let first = Task { try await application.test(.router) { try await $0.get().text } }
            await gate.arrivals()
            let second = Task { try await application.test(.router) { try await $0.get().text } }
            while caches[0].responses.exchanges.waiting < 2 { try await nextTurn() }
            first.cancel()
            _ = await first.result
            gate.open()
            #expect(try await second.value == "1" && handler.runs == 1)
        }
    }

    @Test("without Redis handlers run, and their responses are served")
    func outage() async throws {
        let server = try await RedisServer.start()
        let redis = try RedisClient(server.url)
        let cache = ResponseCache(redis, keyspace: "responses")
        try await server.stop()
        let handler = Handler { _, number in Self.made("\(number)", [.cacheControl: "max-age=60"]) }
        try await handler.application(cache)
            .test(.router) { client async throws in
                #expect(try await client.get("/a").text == "1")
                #expect(try await client.get("/b").text == "2")
                #expect(try await client.execute(uri: "/a", method: .delete).status == .ok)
            }
        await redis.shutDown()
    }
}
#endif
