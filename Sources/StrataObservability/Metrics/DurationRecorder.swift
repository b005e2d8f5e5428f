#if Observability
internal import Metrics
internal import Strata

/// Hands on how long the work of a level, or the calls of a client, took.
final class DurationRecorder: Sendable {
    /// So many kinds of errors have series of their own; the rest share one.
    static let errorLimit = 32

    private let name: String
    private let level: String
    private let place: [String: String]
    private let factory: any MetricsFactory
    /// `nil` after the end.
    private let timers = Locked<[Series: Timer]?>([:])
    private let errors = Locked<Set<String>>([])

    /// - Parameters:
    ///   - name: The cache's name.
    ///   - level: The level.
    ///   - place: Where the level's data are.
    ///   - factory: Makes the timers.
    init(_ name: String, _ level: String, _ place: [String: String], _ factory: any MetricsFactory) {
        self.name = name
        self.level = level
        self.place = place
        self.factory = factory
    }

    /// Some work has ended.
    func record(_ work: WorkDurations.Work, _ nanoseconds: Int64, _ error: String?) {
        let error = error.map { kind($0) } ?? ""
        switch work {
        case .fetch: timer(.fetchDuration, [name, level, error])?.recordNanoseconds(nanoseconds)
        case .wait: timer(.waitDuration, [name, level])?.recordNanoseconds(nanoseconds)
        case .call(let operation):
            let values = Metric.operationDuration.dimensions.map { dimension in
                switch dimension {
                case "db.operation.name": operation
                case "error.type": error
                default: place[dimension] ?? ""
                }
            }
            timer(.operationDuration, values)?.recordNanoseconds(nanoseconds)
        }
    }

    private func kind(_ error: String) -> String {
        errors.withLock { errors in
            guard !errors.contains(error) else { return error }
            guard errors.count < Self.errorLimit else { return "_OTHER" }
            errors.insert(error)
            return error
        }
    }

    /// Ends all series.
    func end() {
        let timers = timers.withLock { timers in
            defer { timers = nil }
            return timers
        }
        for timer in timers?.values ?? [:].values { timer.destroy() }
    }

    private func timer(_ metric: Metric, _ values: [String]) -> Timer? {
        let series = Series(metric: metric, values: values)
        let (known, isEnded) = timers.withLock { ($0?[series], $0 == nil) }
        if known != nil || isEnded { return known }
        let made = Timer(
            label: metric.name,
            dimensions: metric.series(values),
            preferredDisplayUnit: .seconds,
            factory: factory
        )
        let timer = timers.withLock { timers -> Timer? in
            let timer = timers?[series] ?? made
            timers?[series] = timer
            return timers == nil ? nil : timer
        }
        // It has ended meanwhile.
        if timer == nil { made.destroy() }
        return timer
    }
}
#endif
