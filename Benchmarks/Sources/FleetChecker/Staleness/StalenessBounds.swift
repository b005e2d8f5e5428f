/// The bounds of a run, by the kind of read.
///
/// ```swift
/// var bounds = StalenessBounds(normal: StalenessBound(fleet: .milliseconds(5)))
/// bounds.duringFaults = StalenessBound(fleet: .seconds(3))  // the link may be silent while memory is trusted
/// bounds.recovery = .seconds(1)
/// ```
public struct StalenessBounds: Sendable {
    /// For reads that carry no mark.
    public var normal: StalenessBound
    /// For reads without a mark from certain levels, instead of ``normal``.
    public var levels: [ReadLevel: StalenessBound] = [:]
    /// For reads without a mark that begin while a fault lasts or within ``recovery`` after it; nil if a fault excuses
    /// nothing.
    ///
    /// Where the bound of the level is wider, that one stands.
    public var duringFaults: StalenessBound?
    /// How long after its end a fault still counts.
    ///
    /// Zero by default.
    public var recovery: Duration = .zero
    /// For reads that were marked stale; nil, the default, if they may be as old as they like.
    public var stale: StalenessBound?
    /// For reads that were marked suspect and not stale; nil, the default, if they may be as old as they like.
    public var suspect: StalenessBound?

    /// Makes bounds for reads without a mark, everywhere and at all times.
    ///
    /// - Parameter normal: The bound.
    public init(normal: StalenessBound) {
        self.normal = normal
    }
}
