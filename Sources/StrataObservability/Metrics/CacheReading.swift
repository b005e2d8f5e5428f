#if Observability
internal import Metrics
internal import Strata

/// A place where durations are told; a client's belongs to no cache alone.
struct DurationSource: Sendable, Hashable {
    let durations: WorkDurations
    let cache: String?
}

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

        /// Ends the series.
        func destroy() {
            for counter in counters.values { counter.destroy() }
            for gauge in gauges.values { gauge.destroy() }
        }
    }

    private enum Phase: Sendable {
        case idle(State)
        /// A task takes a reading down.
        case recording
        case ended
    }

    /// What the cache is called.
    let name: String
    private let label: @Sendable () -> LevelLabel
    private let factory: any MetricsFactory
    private let phase = Locked(Phase.idle(State()))

    init(_ name: String, _ factory: any MetricsFactory, label: @escaping @Sendable () -> LevelLabel) {
        self.name = name
        self.factory = factory
        self.label = label
    }

    /// The levels now.
    var nodes: [LevelLabel.Node] { label().nodes }

    /// Where the levels of this cache tell durations now.
    var sources: [DurationSource] { nodes.flatMap { sources(of: $0) } }

    /// Where a level tells durations.
    func sources(of node: LevelLabel.Node) -> [DurationSource] {
        node.label.durations.map { DurationSource(durations: $0, cache: node.label.place.isEmpty ? name : nil) }
    }

    /// Hands on what has changed since the last time.
    ///
    /// Does nothing while another task does it, nor after ``end()``.
    func record() {
        let idle: State? = phase.withLock { phase in
            guard case .idle(let state) = phase else { return nil }
            phase = .recording
            return state
        }
        guard var state = idle else { return }
        for node in nodes {
            for counter in node.label.counters {
                guard let meaning = CounterMeaning.of(counter) else { continue }
                let series = Series(metric: meaning.metric, values: [name, node.level] + meaning.values)
                record(counter.value, meaning.isNegated, as: series, &state)
            }
        }
        let isEnded = phase.withLock { phase in
            guard case .recording = phase else { return true }
            phase = .idle(state)
            return false
        }
        if isEnded { state.destroy() }
    }

    /// Ends all series; a reading that is being taken down ends them when it is done.
    func end() {
        let idle: State? = phase.withLock { phase in
            defer { phase = .ended }
            guard case .idle(let state) = phase else { return nil }
            return state
        }
        idle?.destroy()
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
