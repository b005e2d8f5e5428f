internal import Strata

/// What an instance's memory holds of a key, without the value; as CBOR in an answer.
package struct KeyFinding: Codable, Sendable, Hashable {
    package enum State: String, Sendable, Hashable {
        /// There is no such entry.
        case absent
        case fresh
        /// Served while it is fetched anew, or if that fails.
        case stale
        case expired
        /// The link does not stand: Redis is asked first.
        case suspect
        /// One of its tags was invalidated.
        case voidByTag
        /// The key was changed or removed, or everything was.
        case voidByChange
        /// There is no memory, or its keys cannot be found by their bytes.
        case unknown
    }

    package static let form = 1

    package var form = Self.form
    /// The raw value of a ``State``; one of a later release may be another.
    package var state: String
    /// Whether the entry says that there is no value.
    package var isAbsence = false
    /// Milliseconds until it is no longer fresh, and no longer of use; negative when that has passed, `nil` when it
    /// never does.
    package var freshFor: Int?
    package var staleFor: Int?
    /// Milliseconds since it was stored here.
    package var age: Int?
    package var tags = 0
    package var weight = 0
    package var frequency = 0

    private static let codec = Codec<Self>.cbor

    init(_ state: State) { self.state = state.rawValue }

    /// Reads bytes that any user of the server may have written; `nil` when they are no finding of this form.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= InstanceRecord.longest, let finding = try? Self.codec.decode(bytes),
            finding.form == Self.form
        else { return nil }
        self = finding
    }

    var bytes: [UInt8] { (try? Self.codec.encode(self)) ?? [] }

    /// An entry in memory, as a read at this moment would judge it.
    ///
    /// - Parameters:
    ///   - glimpse: The entry.
    ///   - gate: The gate by whose tickets it was kept.
    ///   - system: The moment by the system's clock, as trust in the link.
    ///   - now: The moment by the cache's clock.
    init(
        _ glimpse: MemoryGlimpse<some Sendable>,
        _ gate: FillGate,
        at system: MonotonicInstant,
        _ now: MonotonicInstant
    ) {
        let entry = glimpse.entry
        let state: State =
            if entry.seal?.isLive == false {
                .voidByTag
            } else if !gate.isLive(entry.ticket) {
                .voidByChange
            } else if !entry.isUsable(at: now) {
                .expired
            } else if entry.isSuspect || !gate.admits(entry.ticket, at: system) {
                .suspect
            } else {
                entry.isFresh(at: now) ? .fresh : .stale
            }
        self.init(state)
        func milliseconds(_ instant: MonotonicInstant) -> Int? {
            instant == .distantFuture ? nil : Int(now.nanoseconds(to: instant) / 1_000_000)
        }
        isAbsence = entry.value == nil
        freshFor = milliseconds(entry.freshUntil)
        staleFor = milliseconds(entry.staleUntil)
        age = Int(glimpse.age.saturatedNanoseconds / 1_000_000)
        tags = entry.tags.count
        weight = glimpse.weight
        frequency = glimpse.frequency
    }
}
