// What an instance does for a read: memory, Redis, the lease, the source.
extension FleetSimulation {
    /// Ticks of 10 ms: an entry of memory takes four bytes.
    private static var tick: Int64 { 10_000_000 }

    private func place(_ instance: Int, _ key: Int) -> Int { instance * plan.keys + key }
    func server(of key: Int) -> Int { key % plan.servers }
    private func connection(_ instance: Int, _ key: Int) -> Int { instance * plan.servers + server(of: key) }

    private mutating func keep(_ key: Int, in instance: Int, until: Int64) {
        memory[place(instance, key)] = UInt32(until / Self.tick)
    }

    mutating func read(_ instance: Int, _ key: Int) {
        if Int64(memory[place(instance, key)]) * Self.tick > now {
            count(dueAt: now, isHit: true)
            if isCounted { outcome.memoryHits += 1 }
            return
        }
        let flight = FlightKey(instance: instance, key: key)
        guard flights[flight] == nil else {
            flights[flight]?.dues.append(now)
            return
        }
        flights[flight] = Flight(dues: [now])
        if dataStands[connection(instance, key)] {
            ask(.get, flight)
        } else if now < firstOutage {
            waiting[connection(instance, key), default: []].append(flight)
        } else {
            fetchApart(flight)
        }
    }

    /// Counts a read under the time at which it was due.
    func bucket(of due: Int64) -> Int { Int((due - begin) / 100_000_000) }

    private mutating func count(dueAt due: Int64, isHit: Bool) {
        guard due >= begin else { return }
        let index = bucket(of: due)
        while outcome.buckets.count <= index { outcome.buckets.append((0, 0)) }
        outcome.buckets[index].reads += 1
        if isHit { outcome.buckets[index].hits += 1 }
    }

    mutating func write(_ instance: Int, _ key: Int) {
        guard dataStands[connection(instance, key)] else { return }
        let until = now + Self.nanoseconds(plan.freshFor)
        if linkStands[connection(instance, key)] { keep(key, in: instance, until: until) }
        send(.init(kind: .set, instance: instance, key: key, freshUntil: until))
    }

    mutating func ask(_ kind: SimulatedServer.Command.Kind, _ flight: FlightKey) {
        send(.init(kind: kind, instance: flight.instance, key: flight.key))
    }

    // MARK: Answers

    mutating func answered(_ answer: SimulatedServer.Answer, by server: Int, _ life: Int) {
        // The connection has ended meanwhile; the flight went on without Redis.
        guard life == servers[server].life else { return }
        let flight = FlightKey(instance: answer.command.instance, key: answer.command.key)
        switch answer.command.kind {
        case .connect(let isLink): return stands(flight.instance, server, isLink: isLink)
        case .ping, .look, .set: return
        case .get, .lease, .store: break
        }
        guard let step = flights[flight]?.step, flights[flight]?.isApart == false else { return }
        switch answer.content {
        case .value(let until): land(flight, keptUntil: until, waitedForFetch: step != .reads)
        case .nothing:
            flights[flight]?.step = .competes
            ask(.lease, flight)
        case .leads:
            flights[flight]?.step = .fetches
            call(flight)
        case .waits: flights[flight]?.step = .waits
        case .done: land(flight, keptUntil: answer.command.freshUntil, waitedForFetch: true)
        }
    }

    private mutating func land(_ key: FlightKey, keptUntil: Int64?, waitedForFetch: Bool) {
        guard let flight = flights.removeValue(forKey: key) else { return }
        for (index, due) in flight.dues.enumerated() {
            // Who joined has waited for another's read.
            count(dueAt: due, isHit: index == 0 && !waitedForFetch)
        }
        if isCounted, !waitedForFetch, let due = flight.dues.first {
            outcome.redisReads.append(Double(now - due) / 1e9)
        }
        guard !flight.isVoid else { return }
        let hasLink = linkStands[connection(key.instance, key.key)]
        let unheard = now + Self.nanoseconds(plan.unheard)
        keep(key.key, in: key.instance, until: hasLink ? keptUntil ?? now : min(keptUntil ?? unheard, unheard))
    }

    // MARK: The source

    mutating func fetchApart(_ flight: FlightKey) {
        flights[flight]?.isApart = true
        flights[flight]?.step = .fetches
        call(flight)
    }

    private mutating func call(_ flight: FlightKey) {
        if isCounted {
            outcome.sourceCalls += 1
            fetchedKeys.insert(flight.key)
        }
        guard running < plan.room else {
            line.append(flight)
            if isCounted { outcome.longestLine = max(outcome.longestLine, line.count - lineStart) }
            return
        }
        running += 1
        add(.fetched(instance: flight.instance, key: flight.key), in: plan.fetch)
    }

    mutating func fetched(_ instance: Int, _ key: Int) {
        if lineStart < line.count {
            let next = line[lineStart]
            lineStart += 1
            add(.fetched(instance: next.instance, key: next.key), in: plan.fetch)
        } else {
            running -= 1
            (line, lineStart) = ([], 0)
        }
        let flight = FlightKey(instance: instance, key: key)
        guard let isApart = flights[flight]?.isApart else { return }
        guard !isApart, dataStands[connection(instance, key)] else {
            return land(flight, keptUntil: nil, waitedForFetch: true)
        }
        let until = now + Self.nanoseconds(plan.freshFor)
        send(.init(kind: .store, instance: instance, key: key, freshUntil: until))
    }

    // MARK: Notices

    /// Instances hear of changes.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - holders: Whom each is told; empty for all.
    ///   - start: When the first of them was changed.
    mutating func tell(_ keys: [Int], _ holders: [[Int]], since start: Int64) {
        if isCounted { outcome.propagation.append(Double(now - start) / 1e9) }
        for (index, key) in keys.enumerated() {
            if holders.isEmpty {
                for instance in 0..<plan.instances where linkStands[connection(instance, key)] { hear(key, instance) }
            } else {
                for instance in holders[index] { hear(key, instance) }
            }
        }
    }

    private mutating func hear(_ key: Int, _ instance: Int) {
        if isCounted { outcome.notices += 1 }
        let flight = FlightKey(instance: instance, key: key)
        memory[place(instance, key)] = 0
        guard let step = flights[flight]?.step else { return }
        switch step {
        case .waits: ask(.get, flight)
        case .reads, .competes: flights[flight]?.isVoid = true
        case .fetches: break
        }
    }
}
