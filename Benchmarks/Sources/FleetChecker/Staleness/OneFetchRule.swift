/// The rule that of all instances one at a time fetches a key, and what excuses a second.
///
/// A second fetch is excused by an invalidation between the two: it takes the lease away, so that the next caller
/// starts afresh while the voided fetch still runs. It is also excused by a fault between the two, which may have taken
/// the lease away as well; and if the first began while one lasted, or within ``StalenessBounds/recovery`` after it,
/// since that one may never have had a lease, and may take long. Fetches of one instance among themselves are never
/// held against it.
public struct OneFetchRule: Sendable, Hashable {
    /// How long before its recorded beginning a fetch may have taken its lease.
    public var leaseLead: Duration
    /// How long an invalidation that failed, or whose process was killed in it, may still come to have its effect.
    public var ambiguity: Duration
    /// Keys that the rule does not apply to: those that are read past Redis on purpose, or by releases that cannot read
    /// each other's values.
    public var exceptKeys: Set<Int> = []

    /// Makes the rule.
    ///
    /// - Parameters:
    ///   - leaseLead: How long before its recorded beginning a fetch may have taken its lease; 50 ms by default.
    ///   - ambiguity: How long a failed invalidation may still come to have its effect; 10 s by default.
    public init(leaseLead: Duration = .milliseconds(50), ambiguity: Duration = .seconds(10)) {
        self.leaseLead = leaseLead
        self.ambiguity = ambiguity
    }
}
