import FleetChecker
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
    private static let replacementDelay: Duration = .milliseconds(1_300)

    /// How long an instance may take to read every key, or to end its work: no read lasts longer than a minute.
    private static let answerTimeout: Duration = .seconds(300)

    private let settings: SoakSettings
    private let servers: SoakServers
    private var slots: [Slot] = []
    private(set) var tally = SoakTally()
    private var stopped = 0
    private var stopEnd: UInt64 = 0
    /// How each instance ended that has ended by itself.
    private(set) var crashes: [String] = []

    init(_ settings: SoakSettings, _ servers: SoakServers) {
        self.settings = settings
        self.servers = servers
    }

    /// Starts all instances, every second one behind a proxy of its own.
    func start() async throws {
        for number in 0..<settings.instances {
            var proxy: FaultProxy?
            if number.isMultiple(of: 2), let endpoint = servers.endpoint {
                proxy = try await FaultProxy.start(to: endpoint, seed: settings.seed &+ UInt64(number))
            }
            slots.append(Slot(member: try await begin(number, life: 0, proxy), proxy: proxy))
        }
        for slot in slots { _ = try await slot.member.answer() }
    }

    private func begin(_ number: Int, life: Int, _ proxy: FaultProxy?) async throws -> Member<SoakOrder, SoakAnswer> {
        let arguments = [
            "soak-instance", "--settings", try settings.argument, "--number", "\(number)", "--life", "\(life)",
        ]
        return try await Member(arguments, url: proxy.map { servers.url(to: $0.endpoint) } ?? servers.url)
    }

    var count: Int { slots.count }

    /// The proxies, of the instances that have one.
    var proxies: [(number: Int, proxy: FaultProxy)] {
        slots.enumerated().compactMap { number, slot in slot.proxy.map { (number, $0) } }
    }

    // MARK: Faults

    func kill(_ number: Int) async throws {
        if let status = slots[number].member.process.exitStatus { noteCrash(number, status) }
        try await slots[number].member.process.kill()
        try await Task.rest(for: Self.replacementDelay)
        let successor = try await begin(number, life: slots[number].lives, slots[number].proxy)
        slots[number].lives += 1
        slots[number].member = successor
        _ = try await successor.answer()
    }

    func stop(_ number: Int, for duration: Duration) async throws {
        let process = slots[number].member.process
        stopped += 1
        defer {
            stopped -= 1
            stopEnd = HistoryClock.now()
        }
        try await process.pause()
        try await Task.rest(for: duration)
        try process.resume()
    }

    /// When an instance stood still last, by the clock of histories; 0 for never.
    var lastStop: UInt64 { stopped > 0 ? HistoryClock.now() : stopEnd }

    // MARK: All together

    /// Every instance reads every key.
    func sweep() async throws {
        for number in slots.indices where slots[number].member.process.exitStatus != nil { try await kill(number) }
        let members = slots.map(\.member)
        for member in members { try? await member.send(.sweep) }
        for member in members {
            // One that has crashed meanwhile is found next time.
            switch try await answer(of: member) {
            case .swept, nil: continue
            default: throw Member<SoakOrder, SoakAnswer>.Failure(description: "an instance has not swept")
            }
        }
    }

    /// Has an instance set keys by a way that is frozen.
    ///
    /// - Returns: How many sets have failed, and how many of those keys were changed again; `nil` when the instance has
    ///   ended.
    func setLate(_ number: Int) async throws -> (failed: Int, changed: Int)? {
        let member = slots[number].member
        try await member.send(.setLate)
        guard case .hasSetLate(let failed, let changed) = try await member.answerIfAny() else { return nil }
        return (failed, changed)
    }

    /// Ends the work and gathers what the processes have counted.
    func finish() async throws {
        for slot in slots { try? await slot.member.send(.finish) }
        var silent: [Int] = []
        for (number, slot) in slots.enumerated() {
            if case .finished(let counted) = try await answer(of: slot.member) {
                tally.add(counted)
            } else {
                silent.append(number)
            }
        }
        for slot in slots {
            await slot.member.stop()
            await slot.proxy?.stop()
        }
        for number in silent { noteCrash(number, slots[number].member.process.exitStatus ?? .unknown) }
    }

    /// The next answer; `nil` when the process has ended.
    ///
    /// One whose work does not end hangs: it is ended, and counts as one that has crashed.
    private func answer(of member: Member<SoakOrder, SoakAnswer>) async throws -> SoakAnswer? {
        let watch = Task {
            try await Task.rest(for: Self.answerTimeout)
            FileHandle.standardError.write(Data("process \(member.process.pid) hangs\n".utf8))
            try await member.process.kill()
        }
        defer { watch.cancel() }
        return try await member.answerIfAny()
    }

    private func noteCrash(_ number: Int, _ status: ExitStatus) {
        crashes.append("instance \(number), life \(slots[number].lives): \(status)")
    }
}
