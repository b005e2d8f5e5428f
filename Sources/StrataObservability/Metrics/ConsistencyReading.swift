#if Observability
internal import Metrics
internal import Strata

/// Takes down what a monitor of consistency has counted since the last time.
final class ConsistencyReading: Sendable {
    /// What the cache is called that it measures.
    let name: String
    private let monitor: any ConsistencyCounted
    private let reading: SeriesReading

    init(_ name: String, _ monitor: any ConsistencyCounted, _ factory: any MetricsFactory) {
        self.name = name
        self.monitor = monitor
        reading = SeriesReading(factory)
    }

    /// Hands on what has changed since the last time.
    func record() {
        reading.record { recorder in
            let counts = monitor.consistencyCounts
            func series(_ metric: Metric, _ values: String...) -> Series {
                Series(metric: metric, values: [name] + values)
            }
            for delay in counts.delays {
                let seconds = Self.seconds(delay.delay)
                for (result, count) in delay.results {
                    recorder.count(count, as: series(.consistencyChecks, seconds, result))
                }
                // Where nothing was checked for an hour there are none, and the last ones would be taken for them.
                let nines = series(.consistencyNines, seconds)
                if let value = delay.nines { recorder.state(value, as: nines) } else { recorder.end(nines) }
            }
            recorder.count(counts.changes, as: series(.consistencyChanges))
            recorder.count(counts.leftOut, as: series(.consistencyLeftOut))
            recorder.count(counts.abandoned, as: series(.consistencyAbandoned))
            recorder.state(Double(counts.instances), as: series(.consistencyInstances))
            recorder.state(counts.isListening ? 1 : 0, as: series(.consistencyListening))
        }
    }

    func end() { reading.end() }

    /// A delay in seconds, as short as it can be: `0.1`, `3`.
    static func seconds(_ delay: Duration) -> String {
        let text = "\(delay / .seconds(1))"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
#endif
