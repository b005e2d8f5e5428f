import FleetChecker
import Strata
import StrataTesting

extension SoakRoom {
    /// The tasks of each process that work in it.
    var tasks: Int {
        switch self {
        case .main: 0
        case .hot: 3
        case .beside, .left, .slow: 2
        case .schema, .large, .tenants, .late: 1
        }
    }
}

extension SoakTraffic {
    /// What one task does in a room, until the end.
    func work(in room: SoakRoom, _ random: inout SeededGenerator) async {
        let keys = room.keys(settings)
        while !isEnding {
            let longest = [.hot, .beside, .late].contains(room) ? 20_000 : 100_000
            try? await Task.rest(for: .microseconds(Int.random(in: 0...longest, using: &random)))
            var key = Int.random(in: keys, using: &random)
            let choice = Int.random(in: 0..<100, using: &random)
            switch room {
            case .main: return
            case .beside: await workBeside(key, choice, SoakOptions.any(&random))
            case .hot:
                let own = keys.filter { owns($0) }
                if choice % 2 == 0, !own.isEmpty { key = own[Int.random(in: 0..<own.count, using: &random)] }
                await workHot(key, Int.random(in: 0..<100, using: &random))
            case .left: await leave(key, after: UInt64.random(in: 0...800_000, using: &random))
            case .slow, .schema, .large, .late:
                if choice < 5 {
                    await change(key, bySetting: choice % 2 == 0)
                } else {
                    await read(key)
                }
            case .tenants: await visit(key, choice)
            }
        }
    }

    private func workBeside(_ key: Int, _ choice: Int, _ options: ReadOptions) async {
        switch choice {
        case ..<30: await read(key)
        case ..<70: await read(key, options)
        default: await change(key, bySetting: choice % 3 != 0)
        }
    }

    /// A key is changed and reloaded by all instances for a second, then only read for two, in which nothing sets right
    /// what went wrong.
    ///
    /// What a reload fetches may be set by others before it is stored; see ``SoakCaches``.
    private func workHot(_ key: Int, _ choice: Int) async {
        guard SoakRoom.isHot(key) else { return await read(key) }
        switch choice {
        case ..<15: owns(key) ? await change(key, bySetting: true) : await read(key, .reload)
        case ..<60: await read(key, .reload)
        case ..<62: await caches.removeByHand(key)
        case ..<64: await remove(key)
        default: await read(key)
        }
    }

    /// Reloads a value that is there, and leaves when the fetch has ended; then reads it as all others do.
    private func leave(_ key: Int, after delay: UInt64) async {
        await read(key)
        let hasLeft = await caches.departures.read(key, leavingAfter: delay) { [self] in await read(key, .reload) }
        if hasLeft { noteCancelled() }
        await read(key)
    }

    /// Makes a level in a keyspace of its own, uses it and lets it go.
    private func visit(_ key: Int, _ choice: Int) async {
        let cache = caches.cache(of: key)
        for _ in 0..<3 {
            let start = HistoryClock.now()
            do {
                let (value, trace) = try await cache.getWithTrace(key)
                log.got(key, since: start, Reading(value, from: level(of: trace), marks: marks(of: trace)))
            } catch {
                log.failed(key, since: start)
                counters.note("get of a tenant", error)
            }
        }
        if choice < 20 { await change(key, bySetting: false) }
    }

    // MARK: Late sets

    /// Sets keys by a way that is frozen, then changes them anew, every second one by a removal, until that has come
    /// through.
    ///
    /// - Returns: How many sets have failed, and how many of those keys were changed again.
    func setLate() async -> SoakAnswer {
        let keys = SoakRoom.late.keys(settings).filter { owns($0) && caches.take($0) }
        defer { for key in keys { caches.giveBack(key) } }
        let limit = HistoryClock.now() + 8_000_000_000
        let outcomes = await withTaskGroup(of: (failed: Bool, changed: Bool).self) { group in
            for (index, key) in keys.enumerated() {
                group.addTask { [self] in
                    do {
                        try await changeBySetting(key)
                        return (false, false)
                    } catch {
                        counters.note("late set", error)
                    }
                    while HistoryClock.now() < limit {
                        do {
                            if index % 2 == 0 {
                                try await changeBySetting(key)
                            } else {
                                try await changeByRemoving(key)
                            }
                            return (true, true)
                        } catch {
                            try? await Task.rest(for: .milliseconds(100))
                        }
                    }
                    return (true, false)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        return .hasSetLate(failed: outcomes.count { $0.failed }, changed: outcomes.count { $0.changed })
    }
}
