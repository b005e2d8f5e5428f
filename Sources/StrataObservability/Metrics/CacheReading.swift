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
    /// What the cache is called.
    let name: String
    private let label: @Sendable () -> LevelLabel
    private let reading: SeriesReading

    init(_ name: String, _ factory: any MetricsFactory, label: @escaping @Sendable () -> LevelLabel) {
        self.name = name
        self.label = label
        reading = SeriesReading(factory)
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
        reading.record { recorder in
            for node in nodes {
                for counter in node.label.counters {
                    guard let meaning = CounterMeaning.of(counter) else { continue }
                    let series = Series(metric: meaning.metric, values: [name, node.level] + meaning.values)
                    switch meaning.metric.kind {
                    case .counter: recorder.count(counter.value, as: series)
                    case .gauge:
                        let value = meaning.isNegated ? (counter.value == 0 ? 1 : 0) : counter.value
                        recorder.state(Double(value), as: series)
                    case .timer: break
                    }
                }
            }
        }
    }

    /// Ends all series; a reading that is being taken down ends them when it is done.
    func end() { reading.end() }
}
#endif
