import Foundation

// Connections, the rounds of the servers, and their end.
extension FleetSimulation {
    /// From the first wait after a connection was lost or refused to the longest, doubled each time; a random part of
    /// it.
    private static var firstPause: Double { 0.05 }
    private static var longestPause: Double { 5 }

    mutating func send(_ command: SimulatedServer.Command) {
        let server = server(of: command.key)
        queue.add(.arrives(server: server, command, life: servers[server].life), at: now + delay)
    }

    // MARK: Rounds

    mutating func arrive(_ command: SimulatedServer.Command, at server: Int, _ life: Int) {
        guard servers[server].isUp, life == servers[server].life else { return }
        if isCounted { outcome.commands += 1 }
        servers[server].waiting.append(command)
        if servers[server].busyUntil == nil { beginRound(of: server) }
    }

    private mutating func beginRound(of server: Int) {
        let round = servers[server].run(at: now, plan)
        let end = now + Int64(round.cost * 1_000)
        servers[server].busyUntil = end
        if isCounted { outcome.processor[server] += cooled(since: idleSince[server]) / 1e6 }
        outcome.processor[server] += Double(max(0, min(end, self.end) - max(now, begin))) / 1e9
        queue.add(.roundEnds(server: server, round, begun: now, life: servers[server].life), at: end)
    }

    mutating func endRound(_ round: SimulatedServer.Round, of server: Int, begun: Int64, _ life: Int) {
        guard life == servers[server].life else { return }
        servers[server].busyUntil = nil
        idleSince[server] = now
        for answer in round.answers { queue.add(.answered(answer, server: server, life: life), at: now + delay) }
        if !round.changed.isEmpty {
            queue.add(.told(keys: round.changed, to: round.told, since: begun), at: now + delay)
        }
        if !servers[server].waiting.isEmpty { beginRound(of: server) }
    }

    /// What a round costs more after the server has waited for some time.
    private func cooled(since start: Int64) -> Double {
        plan.costs.cold * (1 - exp(-Double(now - start) / 4e6))
    }

    /// Each second a link asks whether it stands, and a keyspace reads its numbers of invalidations.
    mutating func ping(_ instance: Int) {
        for server in 0..<plan.servers {
            let index = instance * plan.servers + server
            for (stands, kind) in [(linkStands[index], SimulatedServer.Command.Kind.ping), (dataStands[index], .look)]
            where stands {
                let command = SimulatedServer.Command(kind: kind, instance: instance, key: server)
                queue.add(.arrives(server: server, command, life: servers[server].life), at: now + delay)
            }
        }
        add(.ping(instance: instance), in: 1)
    }

    // MARK: Connections

    mutating func connect(_ instance: Int, _ server: Int, isLink: Bool, attempt: Int, after seconds: Double) {
        add(.connects(instance: instance, server: server, isLink: isLink, attempt: attempt), in: seconds)
    }

    mutating func attemptEnds(_ instance: Int, _ server: Int, _ isLink: Bool, _ attempt: Int) {
        guard servers[server].isUp else {
            let longest = min(Self.firstPause * Double(1 << min(attempt + 1, 20)), Self.longestPause)
            let pause = Double.random(in: 0...longest, using: &random)
            return connect(instance, server, isLink: isLink, attempt: attempt + 1, after: pause)
        }
        if isCounted {
            outcome.connections += 1
            let tenth = bucket(of: now)
            while outcome.connectionsEachTenth.count <= tenth { outcome.connectionsEachTenth.append(0) }
            outcome.connectionsEachTenth[tenth] += 1
        }
        let command = SimulatedServer.Command(kind: .connect(isLink: isLink), instance: instance, key: server)
        queue.add(.arrives(server: server, command, life: servers[server].life), at: now + delay)
    }

    /// A connection is ready.
    ///
    /// Of what was changed before a link stood, nothing is known.
    mutating func stands(_ instance: Int, _ server: Int, isLink: Bool) {
        let index = instance * plan.servers + server
        guard isLink else {
            dataStands[index] = true
            for flight in waiting.removeValue(forKey: index) ?? [] { ask(.get, flight) }
            return
        }
        linkStands[index] = true
        for key in stride(from: server, to: plan.keys, by: plan.servers) { memory[instance * plan.keys + key] = 0 }
    }

    // MARK: The outage

    /// All servers end; clients notice at once, as their connections are reset.
    mutating func die() {
        firstOutage = min(firstOutage, now)
        for index in memory.indices { memory[index] = 0 }
        for server in servers.indices { servers[server].die() }
        for index in dataStands.indices { (dataStands[index], linkStands[index]) = (false, false) }
        for instance in 0..<plan.instances {
            for server in 0..<plan.servers {
                for isLink in [false, true] {
                    let pause = Double.random(in: 0...Self.firstPause, using: &random)
                    connect(instance, server, isLink: isLink, attempt: 0, after: pause)
                }
            }
        }
        // A read that waits for Redis goes to the source.
        for (flight, state) in flights where !state.isApart {
            if state.step == .fetches { flights[flight]?.isApart = true } else { fetchApart(flight) }
        }
    }
}
