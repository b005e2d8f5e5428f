internal import Strata

extension FetchingLevel {
    /// Looks in Redis, and fetches when there is nothing that this read may be served.
    func produce(_ key: Key, _ names: KeyNames, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard !request.options.skipsReading.contains(.redis) else {
            return try await fetchBeside(key, names, request)
        }
        let finding: RedisLevel<Key, Value>.Finding
        do {
            finding = try await level.look(up: names, request)
        } catch is RedisError {
            guard request.options.source != .never else { return nil }
            return try await share(key, names, request, sparing: nil) { [self] in
                .entry(try await fetchUncoordinated(key, names, request))
            }
        }
        let found = finding.entry
        var spare: Entry<Value>?
        switch found.map({ request.verdict(on: $0, at: .now) }) ?? .useless {
        case .serve: return found
        case .serveAndRefresh:
            fetches.launch(key, fingerprint: names.fingerprint) { [self] in
                try await lead(key, names, finding, request, waits: false)
            }
            return found
        case .fallBack: spare = found
        case .useless: break
        }
        guard request.options.source != .never else { return nil }
        guard !request.options.skipsFilling.contains(.redis) else {
            return try await fetchUncoordinated(key, names, request)
        }
        do {
            // With an old value at hand nobody waits for another instance, unless the caller wants a new one.
            let waits = spare == nil || request.options.source == .always
            return try await share(key, names, request, sparing: waits ? nil : spare) { [self] in
                try await lead(key, names, finding, request, waits: waits)
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            guard let spare = usable(spare) else { throw error }
            return spare
        }
    }

    /// Fetches for all callers of this process at once.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - request: The read.
    ///   - spare: What is served while another instance fetches; `nil` to wait for that.
    ///   - work: Competes for the lease, or fetches without one.
    private func share(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        sparing spare: Entry<Value>?,
        _ work: @escaping @Sendable () async throws -> Led
    ) async throws -> Entry<Value>? {
        let patience = Patience(
            sinceJoining: level.freshness.hardTimeout,
            sinceStart: spare == nil ? nil : level.freshness.softTimeout
        )
        while true {
            switch try await fetches.join(key, fingerprint: names.fingerprint, patience: patience, work).output {
            case .entry(let entry): return entry
            // Who has joined a competition of somebody less patient competes again.
            case .othersLead: if let spare { return spare }
            }
        }
    }

    /// Fetches without looking in Redis, and writes there what was fetched unless that is not wanted either.
    private func fetchBeside(_ key: Key, _ names: KeyNames, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard request.options.source != .never else { return nil }
        let entry = try await fetchUncoordinated(key, names, request)
        guard var entry, entry.ticket != .void, !request.options.skipsFilling.contains(.redis) else { return entry }
        // Refused like any other write when Redis is away; the caller has its value.
        entry.ticket = (try? await commit(entry, for: key)) ?? .void
        return entry
    }

    /// A stale entry that may still be served.
    func usable(_ entry: Entry<Value>?) -> Entry<Value>? {
        entry.flatMap { $0.isUsable(at: .now) ? $0 : nil }
    }
}
