#if HTTP && Disk
import Strata
import StrataDisk
import StrataHTTP
import StrataTesting
import Testing

@Suite("Fetching by HTTP", .timeLimit(.minutes(5)))
struct HTTPFetcherTests {
    private func failure(_ body: () async throws -> Void) async -> HTTPError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? HTTPError
        }
    }

    @Test("A167 gets of one URL at the same time all complete")
    func simultaneous() async throws {
        try await LocalServer.with { _ in
            .response(200, body: "v")
        } _: { server async throws in
            let fetcher = HTTPFetcher()
            async let one = fetcher.get(server.resource())
            async let two = fetcher.get(server.resource())
            async let three = fetcher.get(server.resource())
            let bodies = try await [one, two, three].map { $0.map { String(decoding: $0.body, as: UTF8.self) } }
            #expect(bodies == ["v", "v", "v"])
        }
    }

    @Test(
        "A168 200 to 299 give the body, any other status is an error that says which",
        arguments: [200, 204, 299, 400, 404, 503]
    )
    func status(status: Int) async throws {
        try await LocalServer.with { _ in
            .response(status, ["retry-after": "7"], body: status == 204 ? "" : "body")
        } _: { server async throws in
            let found: Result<HTTPContent?, any Error>
            do { found = .success(try await HTTPFetcher().get(server.resource())) } catch { found = .failure(error) }
            switch found {
            case .success(let content):
                #expect(content?.status == status && status < 300)
                #expect(content?.body == Array((status == 204 ? "" : "body").utf8))
            case .failure(let error):
                #expect(status >= 300)
                #expect(error as? HTTPError == HTTPError(.statusNotOK, status: status, retryAfter: .seconds(7)))
            }
        }
    }

    @Test("where it is so wished, a status says that there is none, which is remembered")
    func absent() async throws {
        try await LocalServer.with { _ in
            .response(404, ["cache-control": "max-age=60"])
        } _: { server async throws in
            let fetcher = HTTPFetcher(options: HTTPFetchOptions(absentStatuses: [404, 410]))
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(4)), fetcher)
            #expect(try await cache.get(server.resource()) == nil)
            #expect(try await cache.get(server.resource()) == nil)
            #expect(server.requests.count == 1)
        }
    }

    @Test(
        "A169 a body shorter than declared is invalid, an undeclared length is accepted, errors of the connection pass"
    )
    func length() async throws {
        try await LocalServer.with { request in
            request.path == "/short" ? .short(declared: 100, sent: 10) : .close
        } _: { server async throws in
            #expect(
                await failure { _ = try await HTTPFetcher().get(server.resource("/short")) }?.code == .invalidResponse
            )
            await #expect(throws: (any Error).self) { try await HTTPFetcher().get(server.resource("/close")) }
        }
        for url in ["ftp://127.0.0.1/", "file:///etc/passwd", "", "nonsense"] {
            #expect(await failure { _ = try await HTTPFetcher().get(HTTPResource(url)) }?.code == .invalidURL)
        }
    }

    @Test("a body above the limit is given up, declared or not")
    func sizeLimit() async throws {
        try await LocalServer.with { request in
            request.path == "/endless"
                ? .stall(endless: true) : .response(200, body: String(repeating: "x", count: 1_001))
        } _: { server async throws in
            let fetcher = HTTPFetcher(options: HTTPFetchOptions(sizeLimit: 1_000))
            #expect(await failure { _ = try await fetcher.get(server.resource()) }?.code == .tooLarge)
            #expect(await failure { _ = try await fetcher.get(server.resource("/endless")) }?.code == .tooLarge)
            await server.aborted()
        }
    }

    @Test("A170 a get that is cancelled ends as cancelled, and the transfer is aborted", arguments: [true, false])
    func cancelled(afterHeader: Bool) async throws {
        let asked = AsyncGate()
        try await LocalServer.with { _ in
            try? await asked.pass()
            return afterHeader ? .stall() : .silence
        } _: { server async throws in
            let get = Task { try await HTTPFetcher().get(server.resource()) }
            await asked.arrivals()
            asked.open()
            get.cancel()
            await #expect(throws: CancellationError.self) { try await get.value }
            await server.aborted()
        }
    }

    @Test("a server that stalls is given up in time", arguments: [true, false])
    func stalls(afterHeader: Bool) async throws {
        try await LocalServer.with { _ in
            afterHeader ? .stall() : .silence
        } _: { server async throws in
            let fetcher = HTTPFetcher(options: HTTPFetchOptions(timeout: .seconds(2)))
            #expect(await failure { _ = try await fetcher.get(server.resource()) }?.code == .timeout)
            await server.aborted()
        }
    }

    @Test("those that wait for the turn of a host that hangs are given up in time, too")
    func turns() async throws {
        let asked = Locked(0)
        try await LocalServer.with { _ in
            asked.withLock { $0 += 1 }
            return .silence
        } _: { server async throws in
            let fetcher = HTTPFetcher(options: HTTPFetchOptions(timeout: .seconds(1), perHost: 1))
            let codes = await withTaskGroup(of: HTTPError.Code?.self) { group in
                for number in 0..<50 {
                    group.addTask { await failure { _ = try await fetcher.get(server.resource("/\(number)")) }?.code }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.allSatisfy { $0 == .timeout })
        }
        // One after the other would all have been asked; a few may be, whose time ends a little later.
        #expect(asked.withLock { $0 } < 50)
    }

    @Test("redirects are followed, a circle and a chain without end are errors")
    func redirects() async throws {
        try await LocalServer.with { request in
            switch request.path {
            case "/start": .response(302, ["location": "/end"])
            case "/end": .response(200, body: "end")
            case "/circle": .response(302, ["location": "/circle"])
            default: .response(302, ["location": request.path + "x"])
            }
        } _: { server async throws in
            let fetcher = HTTPFetcher()
            #expect(try await fetcher.get(server.resource("/start"))?.body == Array("end".utf8))
            #expect(await failure { _ = try await fetcher.get(server.resource("/circle")) }?.code == .redirectLoop)
            #expect(await failure { _ = try await fetcher.get(server.resource("/chain")) }?.code == .redirectLoop)
        }
    }

    @Test("no more than the limit are fetched from one host at a time")
    func perHost() async throws {
        let gate = AsyncGate()
        try await LocalServer.with { _ in
            try? await gate.pass()
            return .response(200)
        } _: { server async throws in
            let fetcher = HTTPFetcher(options: HTTPFetchOptions(perHost: 2))
            try await withThrowingTaskGroup(of: Void.self) { group async throws in
                for number in 0..<8 { group.addTask { _ = try await fetcher.get(server.resource("/\(number)")) } }
                await gate.arrivals(2)
                gate.open()
                try await group.waitForAll()
            }
            #expect(server.requests.count == 8)
            #expect(server.mostAtOnce == 2)
        }
    }

    @Test("fields of the resource are sent")
    func fields() async throws {
        try await LocalServer.with {
            .response(200, body: $0.fields["accept-language"] ?? "none")
        } _: { server async throws in
            let fetcher = HTTPFetcher()
            #expect(try await fetcher.get(server.resource("/", ["Accept-Language": "de"]))?.body == Array("de".utf8))
            #expect(try await fetcher.get(server.resource())?.body == Array("none".utf8))
        }
    }

    @Test("a response that must not be stored goes to the caller, and no level above keeps it")
    func noStore() async throws {
        try await LocalServer.with { _ in
            .response(200, ["cache-control": "no-store"], body: "v")
        } _: { server async throws in
            let memory = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(4))
            let cache = memory.compose(HTTPFetcher())
            for count in 1...2 {
                #expect(try await cache.get(server.resource())?.body == Array("v".utf8))
                #expect(server.requests.count == count)
            }
            #expect(try await memory.entry(for: server.resource(), ReadRequest()) == nil)
        }
    }
}
#endif
