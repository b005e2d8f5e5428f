import Foundation
import StrataTesting

/// What the show consists of; each scene adds what did not hold.
struct Scenes {
    /// How long an instance may tell an old value when the link to Redis is cut; while it stands, milliseconds.
    private static let bound: Duration = .seconds(3)

    let fleet: ShopFleet
    let dashboard: FleetDashboard
    let prometheus: Prometheus?
    let server: RedisServer
    let products: Int
    let rate: Int
    let seconds: Int
    private(set) var broken: [String] = []
    /// The instance that was killed.
    private var killed: Int?

    init(
        _ fleet: ShopFleet,
        _ dashboard: FleetDashboard,
        _ prometheus: Prometheus?,
        _ server: RedisServer,
        _ show: Show
    ) {
        self.fleet = fleet
        self.dashboard = dashboard
        self.prometheus = prometheus
        self.server = server
        (products, rate, seconds) = (show.products, show.rate, show.seconds)
    }

    /// Plays all scenes; what does not hold is in ``broken``.
    mutating func play() async {
        do { try await playAll() } catch { broken.append("the show has ended early: \(error)") }
    }

    private mutating func playAll() async throws {
        try await coldStart()
        try await load()
        try await traceWaiting()
        try await change()
        try await invalidateCategory()
        try await killInstance()
        try await killRedis()
        try await lookAgain()
    }

    private mutating func expect(_ holds: Bool, _ promise: String) {
        if !holds { broken.append(promise) }
    }

    // MARK: Scenes

    /// All instances are asked for all products at once.
    private mutating func coldStart() async throws {
        let (fleet, products) = (fleet, products)
        try await withThrowingTaskGroup { group in
            for id in 2...products {
                for number in fleet.instances.indices {
                    group.addTask { _ = try await fleet.instances[number].product(id) }
                }
            }
            try await group.waitForAll()
        }
        let queries = try await fleet.queries()
        Output.line(
            "Cold start   \(fleet.instances.count * (products - 1)) requests for \(products - 1) products at once: "
                + "\(queries.values.reduce(0, +)) queries"
        )
        expect(
            queries.count == products - 1 && queries.values.allSatisfy { $0 == 1 },
            "one query a product for the fleet"
        )
    }

    /// A fixed rate, nothing wrong, while a browser shows the dashboard and Prometheus asks for metrics.
    private mutating func load() async throws {
        let (dashboard, prometheus, rate) = (dashboard, prometheus, rate)
        let names = fleet.instances.map(\.process.name)
        let fits: @Sendable (FleetDashboard.Sample) -> Bool = { sample in
            sample.names == names && sample.silent == 0 && sample.readsPerSecond > Double(rate) / 2
        }
        let isCounted: @Sendable ([String: Double]) -> Bool = { rates in
            rates.keys.sorted() == names && rates.values.reduce(0, +) > 0.8 * Double(rate)
        }
        async let looking = dashboard.look(within: .seconds(seconds), until: fits)
        async let asking = prometheus?
            .ask(
                #"sum by (instance) (rate(cache_requests{cache_level="memory"}[5s]))"#,
                within: .seconds(seconds),
                until: isCounted
            )
        let report = try await OpenLoad(fleet: fleet, products: products, rate: rate, seconds: seconds).run(seed: 1)
        let seen = try await looking
        let rates = try await asking
        Output.line("Load         \(report.requests) requests, \(rate) a second, \(report.failures.count) failed")
        Output.line(report.table)
        expect(report.failures.isEmpty, "no failed request under load: \(report.failures.first ?? "")")
        let hits = seen.hits.compactMap { hits in hits.percent.map { String(format: "\(hits.level) %.0f %%", $0) } }
        Output.line(
            "Dashboard    shows \(seen.names.joined(separator: ", ")) at \(Int(seen.readsPerSecond)) reads a second; "
                + "hits: \(hits.joined(separator: ", "))"
        )
        expect(fits(seen), "the dashboard shows the instances and their load, and not \(seen)")
        guard let rates else { return }
        let texts = rates.sorted { $0.key < $1.key }.map { "\($0.key) \(Int($0.value))" }
        Output.line("Prometheus   has reads a second: \(texts.joined(separator: ", "))")
        expect(isCounted(rates), "Prometheus has the instances' reads, and not \(rates)")
    }

    /// All ask at once for a value that no level has: one asks the database, and the spans of the others name its span.
    private mutating func traceWaiting() async throws {
        let fleet = fleet
        // A late caller finds the answer and does not wait.
        for id in (products + 1)...(products + 20) {
            try await withThrowingTaskGroup { group in
                for instance in fleet.instances { group.addTask { _ = try await instance.product(id) } }
                try await group.waitForAll()
            }
            var fetches: [(name: String, get: String)] = []
            var waits: [(name: String, milliseconds: Double, links: [String])] = []
            for instance in fleet.instances {
                let spans = try await instance.spans()
                guard let get = spans.last(where: { $0.name == "cache get" }) else { continue }
                let fetch = spans.last { $0.name == "cache fetch" && $0.parent == get.span }
                if fetch != nil { fetches.append((instance.process.name, "\(get.trace)-\(get.span)")) }
                if !get.links.isEmpty { waits.append((instance.process.name, get.milliseconds, get.links)) }
            }
            guard let fetch = fetches.first, !waits.isEmpty else { continue }
            let texts = waits.map { "\($0.name) waited \(String(format: "%.0f", $0.milliseconds)) ms" }
            Output.line(
                "Traces       \(fetch.name) has asked the database; \(texts.joined(separator: ", ")), linked to its span"
            )
            expect(
                fetches.count == 1 && waits.allSatisfy { $0.links == [fetch.get] },
                "the span of who waits names that of who fetches, and not \(waits)"
            )
            return
        }
        expect(false, "of instances that ask at once some wait for the one that fetches")
    }

    /// One instance changes a price.
    private mutating func change() async throws {
        let id = 7
        try await fleet.instances[0].setPrice(of: id, to: 4_711)
        let changed = ContinuousClock.now
        for (number, instance) in fleet.instances.enumerated() {
            var cents = try await instance.product(id).product?.cents
            while cents != 4_711, ContinuousClock.now < changed + Self.bound {
                cents = try await instance.product(id).product?.cents
            }
            expect(cents == 4_711, "instance \(number) told the old price for longer than \(Self.bound)")
        }
        Output.line("Change       all instances tell the new price after \(Self.milliseconds(since: changed)) ms")
    }

    /// A tag takes a whole category out of all caches.
    private mutating func invalidateCategory() async throws {
        let category = Catalogue.categories[1]
        let before = try await fleet.queries()
        try await fleet.instances[1].invalidate(category: category)
        let members = (2...products).filter { Catalogue.categories[$0 % Catalogue.categories.count] == category }
        let (fleet, began) = (fleet, ContinuousClock.now)
        // The one that has invalidated sees it at once; the others are told.
        try await withThrowingTaskGroup { group in
            for id in members { group.addTask { _ = try await fleet.instances[1].product(id) } }
            try await group.waitForAll()
        }
        for number in fleet.instances.indices {
            for id in members { _ = try await fleet.instances[number].product(id) }
        }
        let after = try await fleet.queries()
        let asked = members.map { (after[$0] ?? 0) - (before[$0] ?? 0) }
        Output.line(
            "Category     \(members.count) products voided by one tag and read again by all after "
                + "\(Self.milliseconds(since: began)) ms: \(asked.reduce(0, +)) queries"
        )
        expect(asked.allSatisfy { $0 == 1 }, "one query a product after its category was invalidated")
    }

    /// The instance that fetches is killed in the middle of the query; those that wait for it are served all the same.
    private mutating func killInstance() async throws {
        let (fleet, id) = (fleet, Catalogue.slowProduct)
        let leader = fleet.instances[0]
        async let first = fleet.product(id, from: 0)
        while try await leader.queries()[id] == nil { try await Task.sleep(for: .milliseconds(5)) }
        let waiting = fleet.instances.indices.dropFirst()
            .map { number in
                Task { try await fleet.instances[number].product(id) }
            }
        try await leader.kill()
        killed = 0
        let began = ContinuousClock.now
        var answers = [try await first]
        for task in waiting { answers.append(try await task.value) }
        let queries = try await fleet.queries()[id] ?? 0
        Output.line(
            "Kill         the instance that was asking the database is killed: \(answers.count) callers are served by the "
                + "others after \(Self.milliseconds(since: began)) ms, by \(queries) query"
        )
        expect(answers.allSatisfy { $0.product?.id == id }, "a killed instance costs its callers nothing but time")
        expect(queries == 1, "one instance takes over from the one that was killed")
    }

    /// Redis dies for five seconds, under load; one instance is gone already.
    private mutating func killRedis() async throws {
        let (server, prometheus) = (server, prometheus)
        let isTold: @Sendable ([String: Double]) -> Bool = { $0["CacheLinkUntrusted"] != nil }
        async let alerts = prometheus?.ask("ALERTS", within: .seconds(seconds), until: isTold)
        let report = try await OpenLoad(fleet: fleet, products: products, rate: rate, seconds: seconds)
            .run(seed: 2) {
                try await Task.sleep(for: .seconds(1))
                try await server.kill()
                try await Task.sleep(for: .seconds(5))
                try await server.restart(keepingData: true)
            }
        Output.line(
            "Outage       Redis is dead for five seconds, one of the instances still: \(report.requests) requests, "
                + "\(report.failures.count) failed, \(report.retried) by another instance"
        )
        Output.line(report.table)
        expect(report.failures.isEmpty, "no failed request in an outage: \(report.failures.first ?? "")")
        guard let alerts = try await alerts else { return }
        // They fire when it lasts for minutes.
        Output.line("Prometheus   has alerts pending: \(alerts.keys.sorted().joined(separator: ", "))")
        expect(isTold(alerts), "Prometheus sees the outage, and has not only \(alerts)")
    }

    /// The dashboard has outlived the outage as well.
    private mutating func lookAgain() async throws {
        let left = fleet.instances.count { !$0.isKilled }
        let fits: @Sendable (FleetDashboard.Sample) -> Bool = { $0.instances - $0.silent == left }
        let began = ContinuousClock.now
        let seen = try await dashboard.look(within: .seconds(10), until: fits)
        Output.line(
            "Dashboard    shows the \(seen.instances - seen.silent) instances that are left after "
                + "\(Self.milliseconds(since: began)) ms"
        )
        expect(fits(seen), "the dashboard shows the \(left) instances that are left, and not \(seen)")
    }

    /// All that the show has started, but for Redis.
    var processes: [LoggedProcess] {
        fleet.instances.map(\.process) + [dashboard.process] + (prometheus.map { [$0.process] } ?? [])
    }

    /// All that runs is asked to end, whatever has happened before.
    mutating func end() async {
        let began = ContinuousClock.now
        let processes = processes
        let statuses = await withTaskGroup(of: (Int, ExitStatus?).self) { group in
            for (number, process) in processes.enumerated() {
                group.addTask { (number, try? await process.stop()) }
            }
            return await group.reduce(into: [Int: ExitStatus?]()) { $0[$1.0] = $1.1 }
        }
        for (number, process) in processes.enumerated() where number != killed {
            let status = statuses[number] ?? nil
            expect(status?.isSuccess == true, "\(process.name) ends in order: \(status?.description ?? "unknown")")
        }
        Output.line("End          what still ran was asked to end, and has after \(Self.milliseconds(since: began)) ms")
    }

    private static func milliseconds(since start: ContinuousClock.Instant) -> String {
        String(format: "%.0f", start.duration(to: .now) / .milliseconds(1))
    }
}
