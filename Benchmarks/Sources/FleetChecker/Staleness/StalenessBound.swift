/// How old a value may be when a read begins.
///
/// A value is old from the moment at which an invalidation of a newer version returned.
public struct StalenessBound: Sendable, Hashable {
    /// The bound for invalidations by any instance of the fleet.
    public var fleet: Duration
    /// The bound for invalidations that the reading instance itself made; the fleet's if that is shorter.
    public var own: Duration

    /// Makes a bound.
    ///
    /// - Parameters:
    ///   - fleet: The bound for invalidations by any instance.
    ///   - own: The bound for the reading instance's own ones; by default none at all may be missed.
    public init(fleet: Duration, own: Duration = .zero) {
        self.fleet = fleet
        self.own = own
    }
}
