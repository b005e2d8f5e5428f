#if Observability
internal import Metrics
internal import Strata

/// Takes down what one cache has counted since the last time.
final class CacheReading: Sendable {
    private struct State: Sendable {
        var counted: [Series: Int] = [:]
        var counters: [Series: Counter] = [:]
        var gauges: [Series: Gauge] = [:]

        /// What has been added to a count; a count that has fallen began anew at zero.
        mutating func growth(of series: Series, to count: Int) -> Int {
            let count = max(0, count)
            let before = counted.updateValue(count, forKey: series) ?? 0
            return count < before ? count : count - before
        }
    }

    /// What the cache is called.
    let name: String
    private let label: @Sendable () -> LevelLabel
    private let factory: any MetricsFactory
    /// `nil` while a reading is taken down.
    private let state = Locked<State?>(State())

    init(_ name: String, _ factory: any MetricsFactory, label: @escaping @Sendable () -> LevelLabel) {
        self.name = name
        self.factory = factory
        self.label = label
    }

    /// The levels now.
    var nodes: [LevelLabel.Node] { label().nodes }

    /// Hands on what has changed since the last time.
    ///
    /// Does nothing while another task does it.
    func record() {
        guard
            var state = state.withLock({ state in
                defer { state = nil }
                return state
            })
        else { return }
        for node in nodes {
            for counter in node.label.counters {
                guard let meaning = CounterMeaning.of(counter) else { continue }
                let series = Series(metric: meaning.metric, values: [name, node.level] + meaning.values)
                record(counter.value, meaning.isNegated, as: series, &state)
            }
        }
        self.state.withLock { $0 = state }
    }

    private func record(_ value: Int, _ isNegated: Bool, as series: Series, _ state: inout State) {
        let (metric, dimensions) = (series.metric, series.metric.series(series.values))
        switch metric.kind {
        case .counter:
            // Made also at zero, so that a rate can be told from the first event on.
            let counter =
                state.counters[series] ?? Counter(label: metric.name, dimensions: dimensions, factory: factory)
            state.counters[series] = counter
            let growth = state.growth(of: series, to: value)
            if growth > 0 { counter.increment(by: growth) }
        case .gauge:
            let gauge = state.gauges[series] ?? Gauge(label: metric.name, dimensions: dimensions, factory: factory)
            state.gauges[series] = gauge
            gauge.record(isNegated ? (value == 0 ? 1 : 0) : value)
        case .timer: break
        }
    }
}
#endif
