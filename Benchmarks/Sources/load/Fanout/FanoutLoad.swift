public import ArgumentParser
import Strata
public import StrataRedis
import StrataTesting

/// `load fanout`: what a write costs a server that has to tell many instances of it.
struct FanoutLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "What writes cost a server that tells many instances of every change, or of what they have read.",
        discussion: """
            Each instance is a client with a memory level, a link and an I/O thread of its own; all are in this process. First \
            every instance reads its share of the keys. Then another client writes each key once. What is printed are the writes \
            for each second of the server's processor, until all messages are sent, beside those without any instance in the \
            same run. Instances that choose the mode by themselves have some rounds before that count.
            """
    )

    @Option(help: "Instances.")
    var instances = 300
    @Option(parsing: .upToNextOption, help: "broadcast, per-key, automatic.")
    var modes = TrackingMode.allCases
    @Option(parsing: .upToNextOption, help: "Shares of the keys that each instance holds.")
    var held = [0, 0.01, 1]
    @Option(help: "Keys that are written, each once.")
    var keys = 50_000
    @Option(help: "Keys that are written when each instance holds all.")
    var keysHeldByAll = 5_000
    @Option(help: "Rounds; the median counts.")
    var rounds = 3
    @Option(help: "For how many seconds instances may choose the mode first, where they do that.")
    var settling = 45

    func run() async throws {
        for share in held {
            let count = share < 1 ? keys : keysHeldByAll
            let alone = try await RedisServer.withServer { server in
                try await rate(server, try await FanoutWriter(server.url, keys: count))
            }
            Measurement(name: "fanout.alone\(Self.name(of: share)).writes_per_cpu", value: alone, unit: "1/s").print()
            var rates: [TrackingMode: Double] = [:]
            for mode in modes {
                let (rate, bytes) = try await RedisServer.withServer { server in
                    try await measure(server, mode, share: share, count)
                }
                rates[mode] = rate
                let name = "fanout.\(Self.name(of: mode))\(Self.name(of: share))"
                Measurement(
                    name: "\(name).ratio",
                    value: rate / alone,
                    unit: "1",
                    comparedTo: "the same writes without instances, same run"
                )
                .print()
                Measurement(name: "\(name).writes_per_cpu", value: rate, unit: "1/s").print()
                guard let bytes, mode == .perKey else { continue }
                Measurement(name: "\(name).bytes_per_key", value: bytes, unit: "B").print()
            }
            guard let auto = rates[.automatic], let best = rates.filter({ $0.key != .automatic }).values.max() else {
                continue
            }
            Measurement(
                name: "fanout.auto\(Self.name(of: share)).ratio_to_better",
                value: auto / best,
                unit: "1",
                comparedTo: "the better of the other modes, same run"
            )
            .print()
        }
    }

    private static func name(of mode: TrackingMode) -> String {
        switch mode {
        case .broadcast: "broadcast"
        case .perKey: "tracked"
        case .automatic: "auto"
        }
    }

    private static func name(of share: Double) -> String {
        share == 0 ? ".unheld" : share < 1 ? ".held\(Int((share * 100).rounded()))" : ".held_by_all"
    }

    private func measure(
        _ server: RedisServer,
        _ mode: TrackingMode,
        share: Double,
        _ count: Int
    ) async throws -> (rate: Double, bytesPerKey: Double?) {
        let writer = try await FanoutWriter(server.url, keys: count)
        try await writer.writeAll()
        var fleet: [FanoutInstance] = []
        for number in 0..<instances {
            fleet.append(try FanoutInstance(server.url, mode, number: number, keys: count))
        }
        for instance in fleet { try await instance.level.ready(within: .seconds(60)) }
        if mode == .automatic { try await settle(fleet, share, server, writer) }
        let before = try await server.usedMemory()
        var bytes: Double?
        let rate = try await rate(server, writer) {
            try await fleet.forEachAtOnce { try await $0.hold(share, of: count) }
            let held = Double(instances) * share * Double(count)
            if bytes == nil, held > 0 { bytes = Double(try await server.usedMemory() - before) / held }
        }
        for instance in fleet { await instance.redis.shutDown() }
        return (rate, bytes)
    }

    /// Goes on as in the rounds that count, so that the instances see what there is to choose from.
    private func settle(
        _ fleet: [FanoutInstance],
        _ share: Double,
        _ server: RedisServer,
        _ writer: FanoutWriter
    ) async throws {
        let start = ContinuousClock.now
        while start.duration(to: .now) < .seconds(settling) {
            try await fleet.forEachAtOnce { try await $0.hold(share, of: writer.count) }
            try await writer.writeAll()
            while try await server.owesMessages() { try await Task.rest(for: .milliseconds(20)) }
        }
        Measurement(
            name: "fanout.auto\(Self.name(of: share)).per_key.share",
            value: Double(fleet.count { $0.redis.tracking == .perKey }) / Double(fleet.count),
            unit: "1",
            comparedTo: "all instances"
        )
        .print()
    }

    /// Writes a second of the server's processor; the median of the rounds.
    private func rate(
        _ server: RedisServer,
        _ writer: FanoutWriter,
        prepare: () async throws -> Void = {}
    ) async throws -> Double {
        var rates: [Double] = []
        try await writer.writeAll()
        for _ in 0..<rounds {
            try await prepare()
            let before = try await server.processorSeconds()
            try await writer.writeAll()
            while try await server.owesMessages() { try await Task.rest(for: .milliseconds(20)) }
            rates.append(Double(writer.count) / (try await server.processorSeconds() - before))
            // What is still on its way is no part of the next round.
            try await Task.rest(for: .milliseconds(300))
        }
        return rates.median
    }
}

extension TrackingMode: @retroactive ExpressibleByArgument {}

extension Collection where Self: Sendable, Element: Sendable {
    /// Does something for all elements, with 16 at a time.
    fileprivate func forEachAtOnce(_ body: @escaping @Sendable (Element) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var rest = makeIterator()
            for _ in 0..<16 {
                guard let element = rest.next() else { break }
                group.addTask { try await body(element) }
            }
            while try await group.next() != nil {
                if let element = rest.next() { group.addTask { try await body(element) } }
            }
        }
    }
}

extension RedisServer {
    /// Whether messages to instances are still in its buffers.
    fileprivate func owesMessages() async throws -> Bool {
        let clients = try await command("CLIENT", "LIST", "TYPE", "pubsub").text
        return clients.split(separator: "\n").contains { !$0.contains(" obl=0 oll=0 ") }
    }
}
