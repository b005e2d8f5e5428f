import StrataTesting

/// The processes of one part of `load verify`.
final class VerifyFleet: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let members: [Member<VerifyOrder, VerifyAnswer>]
    /// In front of each instance that has one.
    let proxies: [FaultProxy?]

    private init(_ members: [Member<VerifyOrder, VerifyAnswer>], _ proxies: [FaultProxy?]) {
        self.members = members
        self.proxies = proxies
    }

    /// How an instance differs from others.
    struct Kind {
        var listens = true
        var ping = 1_000
        var hasProxy = false
    }

    /// Starts instances, each when the one before it listens, and ends them after the closure.
    static func with(
        _ kinds: [Kind],
        _ server: RedisServer,
        folder: String,
        keys: Int,
        rest: Int,
        seed: UInt64,
        _ body: (VerifyFleet) async throws -> Void
    ) async throws {
        var members: [Member<VerifyOrder, VerifyAnswer>] = []
        var proxies: [FaultProxy?] = []
        for (number, kind) in kinds.enumerated() {
            var proxy: FaultProxy?
            if kind.hasProxy {
                proxy = try await FaultProxy.start(to: server.endpoint, seed: seed &+ UInt64(number))
            }
            let arguments = [
                "verify-instance", "--folder", folder, "--number", "\(number)", "--instances", "\(kinds.count)",
                "--keys", "\(keys)", "--listens", "\(kind.listens)", "--ping", "\(kind.ping)", "--rest", "\(rest)",
            ]
            let member = try await Member<VerifyOrder, VerifyAnswer>(arguments, url: proxy?.url ?? server.url)
            _ = try await member.answer()
            members.append(member)
            proxies.append(proxy)
        }
        let fleet = VerifyFleet(members, proxies)
        var failure: (any Error)?
        do { try await body(fleet) } catch { failure = error }
        for member in members { await member.stop() }
        for proxy in proxies { await proxy?.stop() }
        if let failure { throw failure }
    }

    /// Gives an order and waits until it is done.
    @discardableResult
    func order(_ order: VerifyOrder, to number: Int) async throws -> UInt64? {
        try await members[number].send(order)
        switch try await members[number].answer() {
        case .ready, .done: return nil
        case .serves(let version): return version
        case .failed(let description): throw Failure(description: "instance \(number): \(description)")
        }
    }

    func orderAll(_ order: VerifyOrder) async throws {
        for number in members.indices { try await self.order(order, to: number) }
    }
}
