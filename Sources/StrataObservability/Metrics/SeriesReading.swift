#if Observability
internal import Metrics
internal import Strata

/// The series of what is read from time to time, as they were told last.
struct SeriesRecorder: Sendable {
    private let factory: any MetricsFactory
    private var counted: [Series: Int] = [:]
    private var counters: [Series: Counter] = [:]
    private var gauges: [Series: Gauge] = [:]

    init(_ factory: any MetricsFactory) { self.factory = factory }

    /// Counts what has come since the last time.
    mutating func count(_ value: Int, as series: Series) {
        // Made also at zero, so that a rate can be told from the first event on.
        let counter =
            counters[series]
            ?? Counter(label: series.metric.name, dimensions: series.dimensions, factory: factory)
        counters[series] = counter
        let added = growth(of: series, to: value)
        if added > 0 { counter.increment(by: added) }
    }

    /// Tells a state.
    mutating func state(_ value: Double, as series: Series) {
        let gauge =
            gauges[series] ?? Gauge(label: series.metric.name, dimensions: series.dimensions, factory: factory)
        gauges[series] = gauge
        gauge.record(value)
    }

    /// Ends a state that is not known any more; it begins anew when it is.
    mutating func end(_ series: Series) { gauges.removeValue(forKey: series)?.destroy() }

    /// What has been added to a count; one that has fallen by half began anew at zero.
    ///
    /// A hit is counted before it is known to be one: a reading in between is ahead by a few.
    private mutating func growth(of series: Series, to count: Int) -> Int {
        let (count, before) = (max(0, count), counted[series] ?? 0)
        if count < before, count > before / 2 { return 0 }
        counted[series] = count
        return count < before ? count : count - before
    }

    /// Ends the series.
    fileprivate func destroy() {
        for counter in counters.values { counter.destroy() }
        for gauge in gauges.values { gauge.destroy() }
    }
}

/// Series that one task at a time takes down, until they end.
final class SeriesReading: Sendable {
    private enum Phase: Sendable {
        case idle(SeriesRecorder)
        /// A task takes a reading down.
        case recording
        case ended
    }

    private let phase: Locked<Phase>

    init(_ factory: any MetricsFactory) { phase = Locked(.idle(SeriesRecorder(factory))) }

    /// Takes a reading down.
    ///
    /// Does nothing while another task does it, nor after ``end()``.
    func record(_ body: (inout SeriesRecorder) -> Void) {
        let idle: SeriesRecorder? = phase.withLock { phase in
            guard case .idle(let recorder) = phase else { return nil }
            phase = .recording
            return recorder
        }
        guard var recorder = idle else { return }
        body(&recorder)
        let done = recorder
        let isEnded = phase.withLock { phase in
            guard case .recording = phase else { return true }
            phase = .idle(done)
            return false
        }
        if isEnded { done.destroy() }
    }

    /// Ends all series; a reading that is being taken down ends them when it is done.
    func end() {
        let idle: SeriesRecorder? = phase.withLock { phase in
            defer { phase = .ended }
            guard case .idle(let recorder) = phase else { return nil }
            return recorder
        }
        idle?.destroy()
    }
}
#endif
