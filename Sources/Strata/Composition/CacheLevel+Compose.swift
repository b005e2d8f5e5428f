public import Logging

extension CacheLevel {
    /// This level over another one: asked first, filled by it, written with it.
    ///
    /// - Parameters:
    ///   - lower: The level below.
    ///   - fillWaitLimit: How long a get waits until this level is filled, if it is not memory; then the fill goes on
    ///     in the background. 250 ms by default.
    ///   - logger: Gets a line when this level fails and the read goes on below; by default one named `strata`.
    /// - Returns: Both levels as one.
    public func compose<Lower: CacheLevel>(
        _ lower: Lower,
        fillWaitLimit: Duration = .milliseconds(250),
        logger: Logger? = nil
    ) -> Composed<Self, Lower>
    where Lower.Key == Key, Lower.Value == Value {
        Composed(upper: self, lower: lower, fillWaitLimit: fillWaitLimit, logger: logger)
    }
}

extension Composed {
    /// Puts another level below both: `a.compose(b).compose(c)` is built as `a` over (`b` over `c`).
    ///
    /// - Parameters:
    ///   - bottom: The level below both.
    ///   - fillWaitLimit: How long a get waits until the level directly above it is filled, if that is not memory. 250
    ///     ms by default.
    ///   - logger: Gets a line when that level fails and the read goes on below; by default that of this composition.
    /// - Returns: All as one.
    public func compose<Bottom: CacheLevel>(
        _ bottom: Bottom,
        fillWaitLimit: Duration = .milliseconds(250),
        logger: Logger? = nil
    ) -> Composed<Upper, Composed<Lower, Bottom>>
    where Bottom.Key == Key, Bottom.Value == Value {
        Composed<Upper, Composed<Lower, Bottom>>(
            upper: upper,
            lower: Composed<Lower, Bottom>(
                upper: lower,
                lower: bottom,
                fillWaitLimit: fillWaitLimit,
                logger: logger ?? failures.logger
            ),
            fillWaitLimit: self.fillWaitLimit,
            logger: failures.logger
        )
    }
}

extension Composed: SourcedLevel where Lower: SourcedLevel {}
