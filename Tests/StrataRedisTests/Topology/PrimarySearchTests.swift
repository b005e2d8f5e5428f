import Strata
import Testing

@testable import StrataRedis

@Suite("A search for the primary")
struct PrimarySearchTests {
    private static let start = MonotonicInstant(nanoseconds: 5_000_000_000_000)
    private static let old = RedisEndpoint.tcp(host: "10.0.0.1")
    private static let new = RedisEndpoint.tcp(host: "10.0.0.2")

    private static func failed(_ code: RedisError.Code = .connectionFailed) -> SentinelAnswer {
        .failed(RedisError(code: code, message: "refused", endpoint: "s"))
    }

    /// What answers amount to that come one after the other; `nil` for a Sentinel that does not answer.
    private func verdict(
        _ answers: [SentinelAnswer?],
        knowing epoch: UInt64 = 0,
        after time: Duration = .zero
    ) -> Result<PrimarySearch.Found, RedisError>? {
        var search = PrimarySearch(answers.indices.map { .tcp(host: "s\($0)", port: 26_379) }, favourite: 0)
        for (index, answer) in answers.enumerated() {
            if let answer { search.answered(index, answer, knowing: epoch, now: Self.start) }
        }
        return search.verdict(now: Self.start.advanced(by: time), knowing: epoch, name: "m@s")
    }

    private func primary(_ result: Result<PrimarySearch.Found, RedisError>?) -> RedisEndpoint? {
        (try? result?.get())?.endpoint
    }

    private func error(_ result: Result<PrimarySearch.Found, RedisError>?) -> RedisError? {
        if case .failure(let error) = result { error } else { nil }
    }

    @Test("who is asked first: the one that has answered first the last time, then the others in turn")
    func order() {
        let search = PrimarySearch((0..<4).map { .tcp(host: "s\($0)") }, favourite: 2)
        #expect(Array(search.queue) == [2, 3, 0, 1])
    }

    @Test("nodes of a cluster, which a client of unknown topology has to meet when it is made, or together with others")
    func cluster() {
        let late = error(verdict([.cluster, Self.failed(), .cluster]))
        #expect(late?.code == .wrongServer && late?.message.contains("make a new client") == true)
        let mixed: [[SentinelAnswer]] = [[.cluster, .primary(Self.old, epoch: 1)], [.cluster, .unknown]]
        for answers in mixed {
            let error = error(verdict(answers))
            #expect(error?.code == .wrongServer && error?.message.contains("is a node of a cluster") == true)
        }
        #expect(error(verdict([.cluster, .single]))?.code == .wrongServer)
    }

    @Test("one that tells of an older configuration than is known ends no wait: those that know better may be far away")
    func oldIsNear() {
        let answers: [SentinelAnswer?] = [.primary(Self.old, epoch: 1), nil, nil]
        #expect(verdict(answers, knowing: 2, after: .seconds(1)) == nil)
        #expect(primary(verdict([.primary(Self.old, epoch: 1), .primary(Self.new, epoch: 2), nil], knowing: 2)) == nil)
        let late: [SentinelAnswer?] = [.primary(Self.old, epoch: 1), .primary(Self.new, epoch: 2), nil]
        #expect(primary(verdict(late, knowing: 2, after: PrimarySearch.gracePeriod)) == Self.new)
        // When all have answered, most of them are believed.
        let most: [SentinelAnswer?] = [.primary(Self.old, epoch: 1), .primary(Self.old, epoch: 1), Self.failed()]
        #expect(primary(verdict(most, knowing: 2)) == Self.old)
    }

    @Test("the first that knows is believed when the others have had their time, or have answered")
    func firstWins() {
        #expect(verdict([.primary(Self.old, epoch: 0), nil, nil]) == nil)
        #expect(
            primary(verdict([.primary(Self.old, epoch: 0), nil, nil], after: PrimarySearch.gracePeriod)) == Self.old
        )
        #expect(primary(verdict([.primary(Self.old, epoch: 0), .unknown, Self.failed()])) == Self.old)
        // Whoever does not know settles nothing.
        #expect(verdict([.unknown, Self.failed(), nil], after: .seconds(60)) == nil)
    }

    @Test(
        "of two that disagree, the newer configuration wins, whoever has answered first and however many say otherwise"
    )
    func newest() {
        let answers: [SentinelAnswer] = [
            .primary(Self.old, epoch: 3), .primary(Self.old, epoch: 3), .primary(Self.new, epoch: 4),
        ]
        #expect(primary(verdict(answers)) == Self.new)
        #expect(primary(verdict(answers.reversed())) == Self.new)
    }

    @Test(
        "two primaries in one configuration: most Sentinels decide; where there is no majority, an error names them all"
    )
    func disagreement() throws {
        let both: [SentinelAnswer] = [.primary(Self.old, epoch: 3), .primary(Self.new, epoch: 3)]
        #expect(primary(verdict(both + [.primary(Self.new, epoch: 3)])) == Self.new)
        let refusal = try #require(error(verdict(both)))
        #expect(refusal.code == .noPrimary)
        for part in ["s0:26379", "s1:26379", "10.0.0.1:6379", "10.0.0.2:6379"] {
            #expect(refusal.message.contains(part), "\(refusal.message)")
        }
    }

    @Test("what is older than what was acted on counts only if most Sentinels say it")
    func outdated() throws {
        let one: [SentinelAnswer] = [.primary(Self.old, epoch: 3), Self.failed(), Self.failed()]
        let refusal = try #require(error(verdict(one, knowing: 4)))
        #expect(refusal.code == .noPrimary && refusal.message.contains("know less"))
        let most: [SentinelAnswer] = [.primary(Self.old, epoch: 3), .primary(Self.old, epoch: 3), Self.failed()]
        #expect(primary(verdict(most, knowing: 4)) == Self.old)
        #expect(primary(verdict(one, knowing: 3)) == Self.old)
    }

    @Test(
        "where no Sentinel knows, the error says why of each, and its code whether waiting may help",
        arguments: [
            ([.unknown, .unknown], .noPrimary), ([failed(), failed()], .noPrimary), ([failed(), .unknown], .noPrimary),
            ([failed(.authentication), failed(.authentication)], .authentication),
            ([failed(.authentication), failed()], .noPrimary), ([failed(.wrongServer)], .wrongServer),
        ] as [([SentinelAnswer], RedisError.Code)]
    )
    func unknown(answers: [SentinelAnswer], code: RedisError.Code) throws {
        let refusal = try #require(error(verdict(answers)))
        #expect(refusal.code == code)
        for index in answers.indices { #expect(refusal.message.contains("s\(index):26379")) }
    }

    @Test("an error about many Sentinels stays short")
    func short() throws {
        let refusal = try #require(error(verdict(Array(repeating: .unknown, count: 64))))
        #expect(refusal.message.contains("and 56 more") && refusal.message.utf8.count < 600)
    }

    @Test("a single server is found where it stands alone, and refused among others")
    func single() {
        #expect(primary(verdict([.single])) == .tcp(host: "s0", port: 26_379))
        #expect(error(verdict([.single, .unknown]))?.code == .wrongServer)
    }
}
