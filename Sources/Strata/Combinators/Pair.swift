/// Two levels side by side: what all levels made of two have in common.
@usableFromInline
package struct Pair<First: CacheLevel, Second: CacheLevel>: Sendable
where First.Key == Second.Key, First.Value == Second.Value {
    @usableFromInline
    package let first: First
    @usableFromInline
    package let second: Second
    private let hearing: Hearing

    init(_ first: First, _ second: Second) {
        // One cache, one clock.
        _ = CacheClock.common(first.clock, second.clock)
        self.first = first
        self.second = second
        hearing = Hearing(upper: first.gate, lower: second.gate)
    }

    // MARK: Coherence

    /// The gate of the level that has one; when both have, every entry leaves without a ticket for the levels above.
    var gate: FillGate? { first.gate ?? second.gate }

    func fingerprint(of key: First.Key) -> UInt64 {
        switch hearing {
        // A key may move from one level to the other, so its number must not depend on the level.
        case .neither: UInt64(truncatingIfNeeded: key.hashValue)
        case .upper, .both: first.fingerprint(of: key)
        case .lower: second.fingerprint(of: key)
        }
    }

    var keepsTickets: Bool { hearing == .neither && first.keepsTickets && second.keepsTickets }

    /// An entry of the first level, or the second, with a ticket for the levels above.
    func marked(_ entry: Entry<First.Value>?, isFirst: Bool) -> Entry<First.Value>? {
        guard var entry else { return nil }
        switch (hearing, isFirst) {
        case (.neither, _), (.upper, true), (.lower, false): return entry
        case (.upper, false), (.lower, true): entry.ticket = entry.ticket == .void ? .void : .none
        case (.both, _): entry.ticket = .void
        }
        return entry
    }

    // MARK: Writing

    /// Asks both levels for the right to fill a key, where both are written.
    func claim(_ key: First.Key, _ request: ReadRequest) async throws -> Entry<First.Value>? {
        if first.gate != nil { _ = try await first.entry(for: key, request) }
        if second.gate != nil { _ = try await second.entry(for: key, request) }
        return nil
    }

    /// The request by which one of them gets the result of a fetch that another read has left.
    func awaited(_ key: First.Key, _ request: ReadRequest) async throws -> Entry<First.Value>? {
        let found = await Result { try await first.entry(for: key, request) }
        if case .success(let entry?) = found { return marked(entry, isFirst: true) }
        return marked(try await second.entry(for: key, request), isFirst: false)
    }

    /// Writes one of the two.
    func commit(_ entry: Entry<First.Value>, for key: First.Key, toFirst: Bool) async throws -> Ticket? {
        let before = gate?.ticket(for: fingerprint(of: key))
        do {
            let ticket =
                toFirst
                ? try await first.commit(entry, for: key)
                : try await second.commit(dated(entry), for: key)
            switch (hearing, toFirst) {
            case (.neither, _): return nil
            case (.upper, true), (.lower, false): return ticket ?? .void
            case (.upper, false), (.lower, true):
                return before.flatMap { gate?.renew($0, for: fingerprint(of: key)) } ?? .void
            case (.both, _): return .void
            }
        } catch {
            gate?.void(fingerprint(of: key))
            throw error
        }
    }

    /// Writes both at the same time.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    func commit(_ entry: Entry<First.Value>, for key: First.Key) async throws -> Ticket? {
        let (ofFirst, ofSecond) = try await both {
            try await $0.commit(entry, for: key)
        } _: { [self] in
            try await $0.commit(dated(entry), for: key)
        }
        return switch hearing {
        case .neither: nil
        case .upper: ofFirst ?? .void
        case .lower: ofSecond ?? .void
        case .both: .void
        }
    }

    /// The entry as the second level may keep it.
    ///
    /// Where both levels number their invalidations, the entry has the first one's number, and the two cannot be
    /// compared: to the second it is older than everything.
    private func dated(_ entry: Entry<First.Value>) -> Entry<First.Value> {
        guard hearing == .both, entry.asOf != 0 else { return entry }
        var entry = entry
        entry.asOf = 1
        return entry
    }

    /// Removes a key from both.
    func remove(_ key: First.Key) async throws {
        // The key may be in the level without a gate.
        gate?.void(fingerprint(of: key))
        defer { gate?.void(fingerprint(of: key)) }
        _ = try await both {
            try await $0.remove(key)
        } _: {
            try await $0.remove(key)
        }
    }

    /// Empties both.
    func removeAll() async throws {
        gate?.voidAll()
        defer { gate?.voidAll() }
        _ = try await both {
            try await $0.removeAll()
        } _: {
            try await $0.removeAll()
        }
    }

    /// Invalidates tags in both.
    func invalidate(tags: [String]) async throws {
        gate?.void(tags: tags)
        defer { gate?.void(tags: tags) }
        _ = try await both {
            try await $0.invalidate(tags: tags)
        } _: {
            try await $0.invalidate(tags: tags)
        }
    }

    func relieve(_ pressure: MemoryPressure) {
        first.relieve(pressure)
        second.relieve(pressure)
    }

    func drain(within limit: Duration) async {
        await concurrently { [first] in
            await first.drain(within: limit)
        } and: {
            await second.drain(within: limit)
        }
    }

    /// Runs both parts; the failure of one does not end the other.
    private func both<One: Sendable, Other: Sendable>(
        _ onFirst: @escaping @Sendable (First) async throws -> One,
        _ onSecond: @escaping @Sendable (Second) async throws -> Other
    ) async throws -> (One, Other) {
        let outcomes = await concurrently { [first] in
            await Result { try await onFirst(first) }
        } and: { [second] in
            await Result { try await onSecond(second) }
        }
        switch outcomes {
        case (.success(let one), .success(let other)): return (one, other)
        case (.failure(let error), .success), (.success, .failure(let error)): throw error
        case (.failure(let first), .failure(let second)):
            if first is CancellationError || second is CancellationError { throw CancellationError() }
            throw CacheError.combining([first, second])
        }
    }
}
