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
    private func withInstances(
        _ count: Int = 2,
        _ body: ([ResponseCache]) async throws -> Void
    ) async throws {
        let server = try await RedisServer.shared()
        let keyspace = TestRedis.keyspace("responses")
        let clients = try (0..<count).map { _ in try TestRedis.client(of: server) }
        for client in clients {
            try await RedisLevel<HTTPResource, HTTPContent>(client, keyspace: keyspace, codec: .cbor).ready()
        }
        let caches = clients.map { ResponseCache($0, keyspace: keyspace, collapseLimit: .seconds(300)) }
        try await body(caches)
        for client in clients { await client.shutDown() }
    }

    private func responder(_ handler: Handler, _ cache: ResponseCache) -> some HTTPResponder<BasicRequestContext> {
        CachedResponder(CallbackResponder { request, _ in try await handler.run(request) }, by: cache)
    }

    private static func made(_ text: String, _ fields: HTTPTypes.HTTPFields) -> Response {
        Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    @Test(
        "of forty requests to two instances one runs the handler, and all get its response",
        arguments: [false, true]
    )
    func once(varies: Bool) async throws {
        let gate = AsyncGate()
        let fields: HTTPTypes.HTTPFields =
            varies ? [.cacheControl: "max-age=60", .vary: "Accept"] : [.cacheControl: "max-age=60"]
        let handler = Handler { _, number in
            try await gate.pass()
            return Self.made("\(number)", fields)
        }
        try await withInstances { caches in
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
            #expect(texts == Array(repeating: "1", count: 40) && handler.runs == 1)
            #expect(caches.reduce(0) { $0 + $1.statistics.collapsed } == 39)
        }
    }

    @Test("a stale response is served by all while one instance makes a new one")
    func staleWindow() async throws {
        let gate = AsyncGate()
        let handler = Handler { _, number in
            if number > 1 { try await gate.pass() }
            return Self.made("\(number)", [.cacheControl: "max-age=\(number - 1), stale-while-revalidate=600"])
        }
        try await withInstances { caches in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for cache in caches {
                    group.addTask { await cache.run() }
                    await cache.responses.refreshes.wait { isRunning, _ in isRunning }
                }
                let clients = caches.map { handler.application($0) }
                func get(_ number: Int) async throws -> String {
                    try await clients[number].test(.router) { try await $0.get().text }
                }
                #expect(try await get(0) == "1")
                #expect(try await get(0) == "1")
                await gate.arrivals()
                for _ in 0..<3 {
                    #expect(try await get(0) == "1")
                    #expect(try await get(1) == "1")
                }
                // The other instance has looked, and leaves it to the first.
                await caches[1].responses.refreshes.wait { _, pending in pending == 0 }
                #expect(handler.runs == 2)
                gate.open()
                await caches[0].responses.refreshes.wait { _, pending in pending == 0 }
                for number in 0..<2 {
                    while try await get(number) == "1" { try await nextTurn() }
                }
                group.cancelAll()
            }
        }
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
        try await withInstances { caches in
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
        let handler = Handler { _, number in Self.made("\(number)", [.cacheControl: "max-age=600"]) }
        try await withInstances { caches in
            func get(_ number: Int) async throws -> String {
                try await handler.application(caches[number]).test(.router) { try await $0.get().text }
            }
            #expect(try await get(0) == "1")
            #expect(try await get(1) == "1")
            try await caches[0].remove("http://localhost/")
            while try await get(1) == "1" { try await nextTurn() }
            #expect(try await get(0) == "2")
        }
    }

    @Test("a caller that goes away takes the handler from no other")
    func leaving() async throws {
        let gate = AsyncGate()
        let handler = Handler { _, number in
            try await gate.pass()
            return Self.made("\(number)", [.cacheControl: "max-age=60"])
        }
        try await withInstances { caches in
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
        let cache = ResponseCache(redis)
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
