import Foundation
import StrataTesting

/// The processes of a soak: whoever is killed gets a successor.
actor SoakFleet {
    private struct Slot {
        var member: Member<SoakOrder, SoakAnswer>
        var lives = 1
        let proxy: FaultProxy?
    }

    /// After how long a killed instance has a successor: once what it had sent last cannot come to the server any more.
    private static let mourning: Duration = .milliseconds(1_300)

    private let settings: SoakSettings
    private let server: RedisServer
    private var slots: [Slot] = []
    private(set) var tally = SoakTally()

    init(_ settings: SoakSettings, server: RedisServer) {
        self.settings = settings
        self.server = server
    }

    /// Starts all instances, every second one behind a proxy of its own.
    func start() async throws {
        for number in 0..<settings.instances {
            let proxy =
                number.isMultiple(of: 2)
                ? try await FaultProxy.start(to: server.endpoint, seed: settings.seed &+ UInt64(number)) : nil
            slots.append(Slot(member: try await begin(number, life: 0, proxy), proxy: proxy))
        }
        for slot in slots { _ = try await slot.member.answer() }
    }

    private func begin(_ number: Int, life: Int, _ proxy: FaultProxy?) async throws -> Member<SoakOrder, SoakAnswer> {
        let arguments = [
            "soak-instance", "--settings", try settings.argument, "--number", "\(number)", "--life", "\(life)",
        ]
        return try await Member(arguments, url: proxy?.url ?? server.url)
    }

    var count: Int { slots.count }

    /// The proxies, of the instances that have one.
    var proxies: [FaultProxy] { slots.compactMap(\.proxy) }

    // MARK: Faults

    func kill(_ number: Int) async throws {
        try await slots[number].member.process.kill()
        try await Task.rest(for: Self.mourning)
        let successor = try await begin(number, life: slots[number].lives, slots[number].proxy)
        slots[number].lives += 1
        slots[number].member = successor
        _ = try await successor.answer()
    }

    func stop(_ number: Int, for duration: Duration) async throws {
        let process = slots[number].member.process
        try await process.pause()
        try await Task.rest(for: duration)
        try process.resume()
    }

    // MARK: All together

    /// Every instance reads every key.
    func sweep() async throws {
        let members = slots.map(\.member)
        for member in members { try await member.send(.sweep) }
        for member in members {
            guard case .swept = try await member.answer() else {
                throw Member<SoakOrder, SoakAnswer>.Failure(description: "an instance has not swept")
            }
        }
    }

    /// Ends the work and gathers what the processes have counted.
    func finish() async throws {
        for slot in slots { try await slot.member.send(.finish) }
        for slot in slots {
            guard case .finished(let counted) = try await slot.member.answer() else {
                throw Member<SoakOrder, SoakAnswer>.Failure(description: "an instance has not finished")
            }
            tally.add(counted)
        }
        for slot in slots {
            await slot.member.stop()
            await slot.proxy?.stop()
        }
    }
}
