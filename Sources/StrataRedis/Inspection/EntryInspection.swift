internal import Strata

/// The content of a value key.
package struct EntryInspection: Sendable {
    package enum Content: Sendable {
        case envelope(EnvelopeInspection)
        /// Redis keeps another type than a string there; its name as TYPE gives it.
        case otherType(String)
    }

    package let key: InspectedKey
    package let content: Content
    /// Why no level serves a sound envelope; `nil` when nothing voids it.
    package let invalidation: Invalidation?
    /// How long Redis keeps it.
    package let timeToLive: RedisTimeToLive
    /// Milliseconds of the server's clock since 1970, at about the moment of the look.
    package let serverTime: Int64
}

extension EntryInspection {
    /// What voids an entry.
    package enum Invalidation: Sendable, Hashable {
        /// The keyspace was cleared since its fetch began.
        case cleared
        /// These of its tags were invalidated since its fetch began, or so long ago that the number is forgotten.
        case tags([String])
        /// It bears a number that was not given out: the keyspace's numbers have begun anew since.
        case unknownNumber
        /// The keyspace's numbers are lost or make no sense: the next read by an instance voids everything.
        case marksLost
    }

    /// The state of an entry.
    package enum State: String, Sendable {
        case fresh
        case stale
        /// Past the time for which it may be served stale.
        case expired
        /// A tag or a clear has voided it.
        case void
        /// No level takes it for an entry.
        case unusable
    }

    /// The state by the server's clock.
    package var state: State {
        guard case .envelope(let envelope) = content, envelope.fault == nil, let header = envelope.header else {
            return .unusable
        }
        if invalidation != nil { return .void }
        if serverTime < header.freshUntil { return .fresh }
        return serverTime < header.staleUntil ? .stale : .expired
    }
}

extension EntryInspection.Content {
    /// The tags; none where they cannot be read.
    var tags: [String] {
        if case .envelope(let envelope) = self { envelope.tags } else { [] }
    }

    /// What voids it by the keyspace's numbers; `nil` for nothing, and for what is no sound envelope.
    func invalidation(by found: RedisClient.TagNumbers) -> EntryInspection.Invalidation? {
        guard case .envelope(let envelope) = self, envelope.fault == nil, let header = envelope.header else {
            return nil
        }
        guard let marks = found.marks else { return .marksLost }
        if header.asOf < marks.clear { return .cleared }
        if header.asOf > marks.sequence { return .unknownNumber }
        let void = envelope.tags.filter { found.numbers[TagName($0)] ?? 0 > header.asOf }
        return void.isEmpty ? nil : .tags(void)
    }
}

/// How long Redis keeps a value and its lease.
package struct KeyLifetimes: Sendable, Hashable {
    package let value: RedisTimeToLive
    package let lease: RedisTimeToLive
}

/// Whether a key has a value and a lease.
package struct KeyPresence: Sendable, Hashable {
    package let key: InspectedKey
    package let value: Bool
    package let lease: Bool
}

/// How many values and leases there are.
package struct KeyspaceCounts: Sendable, Hashable {
    package var values = 0
    package var leases = 0

    package init(values: Int = 0, leases: Int = 0) {
        self.values = values
        self.leases = leases
    }
}

/// A lease as it stands.
package struct LeaseInspection: Sendable {
    package let key: InspectedKey
    /// The record of the lease; `nil` for other bytes.
    let record: LeaseRecord?
    package let timeLeft: RedisTimeToLive

    /// The holder's random token; `nil` for a remembered failure.
    package var token: [UInt8]? {
        if case .held(let token, _, _) = record { token } else { nil }
    }

    /// The instance that fetches; `nil` for a remembered failure.
    package var holder: String? {
        if case .held(_, let holder, _) = record { holder } else { nil }
    }

    /// The trace of the read for which the instance fetches, in hexadecimal; `nil` for one that is not traced.
    package var trace: String? {
        if case .held(_, _, let traceParent) = record { traceParent?.trace } else { nil }
    }

    /// The error of the last fetch, and the number of failures in a row.
    package var failure: (message: String, attempts: Int)? {
        if case .failed(let attempts, let message) = record { (message, attempts) } else { nil }
    }
}

extension LeaseInspection {
    /// What a read makes of a lease.
    package enum Standing: Sendable, Hashable {
        /// It waits for the holder.
        case held
        /// It gets the failure, for so long.
        case backOff(Duration)
        /// It fetches. Should that fail as well, it is one more failure in a row.
        case remembered
        /// It takes the lease for itself: this one stands longer than any of the library's own.
        case ignored
    }

    /// What a read makes of it that finds no value.
    package var standing: Standing {
        guard case .remaining(let left) = timeLeft else { return .ignored }
        guard case .failed = record else { return left <= Lease.longestForeignLease ? .held : .ignored }
        guard left <= Lease.longestBackOff + Lease.failureMemory else { return .ignored }
        return left > Lease.failureMemory ? .backOff(left - Lease.failureMemory) : .remembered
    }
}
