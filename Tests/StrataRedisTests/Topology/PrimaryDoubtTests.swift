import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A primary of which a Sentinel says that it is none any more", .timeLimit(.minutes(5)))
struct PrimaryDoubtTests {
    // MARK: When it is in doubt

    private let start = MonotonicInstant.now

    /// A locator that has found a primary, and what asks its only Sentinel.
    private func locator() throws -> PrimaryLocator {
        let configuration = try RedisConfiguration(url: "redis-sentinel://127.0.0.1:1/?master=m")
        let locator = PrimaryLocator(configuration, configuration.places, logger: nil)
        _ = locator.search(now: start)
        answer(locator, try #require(locator.nextQuestion()), "old", at: start)
        return locator
    }

    private func answer(
        _ locator: PrimaryLocator,
        _ question: (sentinel: Int, search: UInt64),
        _ host: String,
        at now: MonotonicInstant
    ) {
        locator.release(question.sentinel)
        let endpoint = RedisEndpoint.tcp(host: host, port: 1)
        locator.answered(question.sentinel, question.search, .primary(endpoint, epoch: host == "old" ? 1 : 2), now: now)
    }

    @Test("who waits for a search has its result, also when another one has begun since")
    func resultKept() throws {
        let locator = try locator()
        let later = start.advanced(by: .seconds(60))
        let search = locator.search(now: later)
        let question = try #require(locator.nextQuestion())
        // A message comes while the Sentinel is asked.
        locator.toldOfFailover(to: nil, now: later)
        answer(locator, question, "new", at: later)
        locator.pump(now: later)
        #expect(locator.isRunning(search + 1))
        #expect(locator.outcome(of: search) != nil)
        #expect(locator.outcome(of: search + 1) == nil)
        #expect(locator.search(now: later) == search + 1)
    }

    @Test("it is in doubt from what a Sentinel tells until the next search has ended", arguments: ["old", "new"])
    func search(found: String) throws {
        let locator = try locator()
        #expect(!locator.isInDoubt)
        locator.hinted()
        #expect(!locator.isInDoubt, "no Sentinel has told of a failover")
        locator.pump(now: start)
        let earlier = try #require(locator.nextQuestion())
        let now = start.advanced(by: .milliseconds(1))
        locator.toldOfFailover(to: nil, now: now)
        #expect(locator.isInDoubt)
        answer(locator, earlier, "old", at: now)
        #expect(locator.isInDoubt, "that search had begun before")
        // At once, though the last one was begun a moment ago.
        let later = start.advanced(by: .milliseconds(2))
        locator.pump(now: later)
        #expect(locator.isInDoubt)
        answer(locator, try #require(locator.nextQuestion()), found, at: later)
        #expect(!locator.isInDoubt)
        #expect(locator.generation == (found == "new" ? 2 : 1))
    }

    @Test("a search that was under way and finds another primary ends it, too: that one is in no doubt")
    func foundMeanwhile() throws {
        let locator = try locator()
        locator.hinted()
        locator.pump(now: start)
        let question = try #require(locator.nextQuestion())
        locator.toldOfFailover(to: nil, now: start)
        #expect(locator.isInDoubt)
        answer(locator, question, "new", at: start)
        #expect(!locator.isInDoubt && locator.generation == 2)
    }

    @Test("for a tenth of a second at most, and once a second")
    func bounds() throws {
        let locator = try locator()
        locator.toldOfFailover(to: nil, now: start)
        locator.pump(now: start.advanced(by: .milliseconds(99)))
        #expect(locator.isInDoubt && locator.nextDeadline <= start.advanced(by: .milliseconds(100)))
        locator.pump(now: start.advanced(by: .milliseconds(100)))
        #expect(!locator.isInDoubt)
        locator.toldOfFailover(to: nil, now: start.advanced(by: .milliseconds(999)))
        #expect(!locator.isInDoubt)
        locator.toldOfFailover(to: nil, now: start.advanced(by: .seconds(1)))
        #expect(locator.isInDoubt)
    }

    @Test("a message that names the known primary leaves it out of doubt")
    func named() throws {
        let locator = try locator()
        locator.toldOfFailover(to: .tcp(host: "old", port: 1), now: start)
        #expect(!locator.isInDoubt)
        locator.toldOfFailover(to: .tcp(host: "new", port: 1), now: start)
        #expect(locator.isInDoubt)
    }

    // MARK: What connections do meanwhile

    @Test("nothing is sent to it, and it is left when there is another")
    func sending() async throws {
        try await Doubtful.with { doubtful async throws in
            #expect(try await doubtful.get() == "old")
            doubtful.state.withLock { $0.isInDoubt = true }
            // The thread may have looked just before.
            try await doubtful.rounds(5)
            let call = Task { try await doubtful.get() }
            while doubtful.connection.inFlight == 0 { try await nextTurn() }
            try await doubtful.rounds(5)
            #expect(doubtful.state.withLock { $0.asked } == 1)
            doubtful.move()
            let error = await #expect(throws: RedisError.self) { try await call.value }
            #expect(error?.effect == .notApplied)
            #expect(doubtful.state.withLock { $0.asked } == 1)
            while (try? await doubtful.get()) != "new" { try await nextTurn() }
        }
    }

    @Test("what it answers is not taken")
    func receiving() async throws {
        try await Doubtful.with { doubtful async throws in
            #expect(try await doubtful.get() == "old")
            doubtful.state.withLock { $0.isDoubtedWhenAsked = true }
            let call = Task { try await doubtful.get() }
            while doubtful.state.withLock({ $0.asked }) < 2 { try await nextTurn() }
            try await doubtful.rounds(5)
            // A PING may lie behind it.
            #expect(doubtful.connection.inFlight > 0, "it has come, and was not taken")
            doubtful.move()
            await #expect(throws: RedisError.self) { try await call.value }
        }
    }

    @Test("when it is the primary all the same, all goes on where it was")
    func groundless() async throws {
        try await Doubtful.with { doubtful async throws in
            #expect(try await doubtful.get() == "old")
            doubtful.state.withLock { $0.isDoubtedWhenAsked = true }
            let one = Task { try await doubtful.get() }
            while doubtful.state.withLock({ $0.asked }) < 2 { try await nextTurn() }
            let other = Task { try await doubtful.get() }
            while doubtful.connection.inFlight < 2 { try await nextTurn() }
            doubtful.state.withLock { ($0.isInDoubt, $0.isDoubtedWhenAsked) = (false, false) }
            doubtful.loop.wakeup.signal()
            #expect(try await one.value == "old")
            #expect(try await other.value == "old")
        }
    }

    @Test("a call whose time is up meanwhile is not the server's fault")
    func late() async throws {
        try await Doubtful.with { doubtful async throws in
            #expect(try await doubtful.get() == "old")
            var error: RedisError?
            // With more time where the server, which is in this process, was asked too late.
            for limit in [200, 2_000, 20_000] where error?.isOwnDelay != true {
                doubtful.state.withLock { ($0.isInDoubt, $0.isDoubtedWhenAsked) = (false, true) }
                error = await #expect(throws: RedisError.self) {
                    try await doubtful.get(within: .milliseconds(limit))
                }
            }
            #expect(error?.code == .timeout && error?.isOwnDelay == true)
        }
    }

    @Test("the link's PING is not answered by it either, so memory is not trusted for its sake")
    func link() async throws {
        try await RedisServer.withServer { server async throws in
            var configuration = try RedisConfiguration(url: server.url)
            configuration.linkPingInterval = .milliseconds(1)
            let listener = TrustCounter()
            let loop = try IOLoop()
            let link = LinkAlone(configuration, loop, listener)
            let doubtful = try Doubtful(configuration, [configuration.endpoint], loop, link)
            while listener.count.withLock({ $0 }) < 3 { try await nextTurn() }
            doubtful.state.withLock { $0.isInDoubt = true }
            try await doubtful.rounds(20)
            let count = listener.count.withLock { $0 }
            let end = MonotonicInstant.now.advanced(by: .milliseconds(100))
            while MonotonicInstant.now < end { try await doubtful.rounds(20) }
            #expect(listener.count.withLock { $0 } == count)
            doubtful.state.withLock { $0.isInDoubt = false }
            doubtful.loop.wakeup.signal()
            while listener.count.withLock({ $0 }) == count { try await nextTurn() }
            await doubtful.stop()
        }
    }
}

/// A connection whose server is one of several, as a test says.
private struct Doubtful {
    struct State {
        var isInDoubt = false
        /// Whether the doubt begins when the server has the next command.
        var isDoubtedWhenAsked = false
        /// How many times the first server was asked for a value.
        var asked = 0
        /// Which of the servers it is.
        var place = 0
        /// Which it will be as soon as the thread asks for that: a locator lives there, and changes all it says at
        /// once.
        var next: Int?
        /// How many times drivers have asked whether they may go on.
        var looks = 0
    }

    let loop: IOLoop
    let group: ConnectionGroup
    let state = Shared(State())

    var connection: Connection { group.connections[0] }

    init(
        _ configuration: RedisConfiguration,
        _ endpoints: [RedisEndpoint],
        _ loop: IOLoop,
        _ attachment: (any LoopAttachment)? = nil
    ) throws {
        self.loop = loop
        let locator: @Sendable (LoopThread) -> any ServerLocator = { [state] _ in
            ToldLocator(state: state, endpoints: endpoints)
        }
        group = ConnectionGroup(
            configuration: configuration,
            logger: nil,
            loop: loop,
            locator: locator,
            attachment: attachment
        )
        try group.start()
    }

    /// Two servers, of which the first answers "old" and the second "new".
    static func with(_ body: (Doubtful) async throws -> Void) async throws {
        let state = Locked<Shared<State>?>(nil)
        @Sendable func server(_ value: String, isFirst: Bool) async throws -> ScriptedServer {
            try await ScriptedServer.start(answering: { command, _ in
                switch command[0] {
                case "PING": return [.send(text: "+PONG\r\n")]
                case "GET":
                    if isFirst {
                        state.withLock { $0 }?
                            .withLock { state in
                                state.asked += 1
                                if state.isDoubtedWhenAsked { state.isInDoubt = true }
                            }
                    }
                    return [.send(text: "+\(value)\r\n")]
                default: return [.send(text: "+OK\r\n")]
                }
            })
        }
        let servers = try await [server("old", isFirst: true), server("new", isFirst: false)]
        var configuration = try RedisConfiguration(url: servers[0].url)
        configuration.clientName = nil
        configuration.connectTimeout = .seconds(30)
        configuration.healthWindow = .seconds(60)
        let endpoints = try servers.map { try RedisConfiguration(url: $0.url).endpoint }
        let doubtful = try Doubtful(configuration, endpoints, IOLoop())
        state.withLock { $0 = doubtful.state }
        try await body(doubtful)
        await doubtful.stop()
        for server in servers { await server.stop() }
    }

    func get(within limit: Duration = .seconds(60)) async throws -> String? {
        try await connection
            .call(deadline: .now.advanced(by: limit)) { writer in
                writer.begin(2)
                for word in ["GET", "k"] { writer.argument(word) }
            }
            .string
    }

    /// Waits until drivers have asked so often whether they may go on.
    func rounds(_ count: Int) async throws {
        let end = state.withLock { $0.looks } + count
        while state.withLock({ $0.looks }) < end {
            loop.wakeup.signal()
            try await nextTurn()
        }
    }

    /// The second server is found to be the one.
    func move() {
        state.withLock { $0.next = 1 }
        loop.wakeup.signal()
    }

    func stop() async {
        group.stop(by: .distantPast)
        await group.waitUntilStopped()
    }
}

/// Finds what a test says.
private final class ToldLocator: ServerLocator {
    private let state: Shared<Doubtful.State>
    private let endpoints: [RedisEndpoint]

    init(state: Shared<Doubtful.State>, endpoints: [RedisEndpoint]) {
        self.state = state
        self.endpoints = endpoints
    }

    private var place: Int { state.withLock { $0.place } }

    func drivers(for thread: LoopThread) -> [any LoopDriver] { [] }
    func search(now: MonotonicInstant) -> UInt64 { 0 }
    var namesPrimaries: Bool { true }

    func outcome(of search: UInt64) -> Result<RedisEndpoint, RedisError>? { .success(endpoints[place]) }
    var generation: UInt64 {
        state.withLock { state in
            if let next = state.next.take() { (state.place, state.isInDoubt) = (next, false) }
            return UInt64(state.place)
        }
    }
    var news: UInt64 { UInt64(place) }

    var isInDoubt: Bool {
        state.withLock { state in
            state.looks += 1
            return state.isInDoubt
        }
    }
}

/// Counts how many times memory may be trusted for longer.
private final class TrustCounter: LinkListener {
    let isDivided = false
    let count = Locked(0)

    func linkEstablished(trustedUntil: MonotonicInstant) {}
    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant) { count.withLock { $0 += 1 } }
    func linkLost() {}
    func changed(_ name: [UInt8]) {}
    func marksChanged(_ part: KeyspacePart?) {}
    func everythingChanged() {}
    func event(_ message: [UInt8], _ part: KeyspacePart?) {}
}

/// The invalidation link of a client that has no caches.
private final class LinkAlone: LoopAttachment {
    private let link: InvalidationLink

    init(_ configuration: RedisConfiguration, _ loop: IOLoop, _ listener: some LinkListener) {
        link = InvalidationLink(settings: LinkSettings(configuration), wakeup: loop.wakeup, logger: nil)
        _ = link.add(listener, for: Keyspace(TestServer.uniqueName()))
    }

    func drivers(for thread: LoopThread) -> [any LoopDriver] { link.drivers(for: thread) }
    func connected() {}
    func leave(_ error: RedisError) {}
    func loginChanged(isFirst: Bool) {}
    func shutDown() { link.shutDown() }
}
