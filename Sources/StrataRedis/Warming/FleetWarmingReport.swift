public import Strata

/// The result of filling memory with the keys that are hot in other instances.
public struct FleetWarmingReport: Sendable {
    /// Other instances that are listed.
    public internal(set) var listed = 0
    /// Instances that were asked.
    public internal(set) var asked = 0
    /// Instances whose answer can be read.
    ///
    /// With 0, memory is as cold as before: no other instance runs a ``FleetMember``, or none has answered in time.
    public internal(set) var answered = 0
    /// Instances whose answer was damaged, too long, or of another release.
    public internal(set) var unusable = 0
    /// Keys that they have named, each once.
    public internal(set) var named = 0
    /// What became of these keys.
    public internal(set) var warming = WarmingReport()

    /// An empty report.
    public init() {}
}
