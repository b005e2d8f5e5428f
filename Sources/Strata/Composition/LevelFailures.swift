internal import Logging

/// Counts failures of the upper level of a composition, which do not fail the read: it goes on below.
///
/// Logs the first failure, and then one line for all failures of ten seconds.
final class LevelFailures: Sendable {
    private struct Silence: Sendable {
        var until = MonotonicInstant.distantPast
        var unlogged = 0
    }

    private static let pause: Duration = .seconds(10)

    let reads = Tally()
    let fills = Tally()
    let lateFills = Tally()
    private let silence = Locked(Silence())
    let logger: Logger?

    /// - Parameter logger: Gets the lines; `nil` for one named `strata`, made by the process's logging system.
    init(_ logger: Logger?) {
        self.logger = logger
    }

    /// A read of the upper level has failed.
    ///
    /// - Returns: Whether it has: a condition that does not hold is no failure.
    func read(_ error: any Error, of level: some CacheLevel) -> Bool {
        guard (error as? CacheError)?.code != .conditionNotSatisfied else { return false }
        reads.add()
        log("a level of a cache cannot be read: levels below are asked", error, level)
        return true
    }

    /// The upper level could not be filled; that the reader has left is no failure.
    func fill(_ error: any Error, of level: some CacheLevel) {
        guard !(error is CancellationError && Task.isCancelled) else { return }
        fills.add()
        log("a level of a cache cannot be filled: the value is returned all the same", error, level)
    }

    private func log(_ message: Logger.Message, _ error: any Error, _ level: some CacheLevel) {
        let now = MonotonicInstant.now
        let unlogged: Int? = silence.withLock { silence in
            guard silence.until <= now else {
                silence.unlogged += 1
                return nil
            }
            defer { silence = Silence(until: now.advanced(by: Self.pause)) }
            return silence.unlogged
        }
        guard let unlogged else { return }
        (logger ?? Logger(label: "strata"))
            .warning(
                message,
                metadata: [
                    "level": "\(level.label.kind)", "error": "\(CacheError.name(of: error))",
                    "unlogged": "\(unlogged)",
                ]
            )
    }
}

extension Composed {
    /// - Throws: `CancellationError` if one of them is, otherwise all in one; nothing when there is none.
    func throwAny(_ errors: [any Error]) throws {
        if errors.contains(where: { $0 is CancellationError }) { throw CancellationError() }
        if !errors.isEmpty { throw CacheError.combining(errors) }
    }
}
