import Metrics
import Synchronization

/// Metrics as text, in the format that Prometheus scrapes.
///
/// It keeps the example free of one more package. In a service of yours use swift-prometheus, whose names and kinds
/// these are: dots become underscores, and a timer is a histogram in seconds.
final class TextMetrics: MetricsFactory, Sendable {
    private enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    /// What is measured of one series, behind a lock of its own, which is enough for an example.
    private final class Series: Sendable {
        /// Upper ends of the histogram's buckets, in seconds.
        static let buckets = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3]

        struct Content {
            var value = 0.0
            var sum = 0.0
            var counts = [Int](repeating: 0, count: buckets.count + 1)
        }

        let content = Mutex(Content())
    }

    private struct Family {
        let kind: Kind
        /// By their dimensions, as they are written.
        var series: [String: Series] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    private func series(_ kind: Kind, _ label: String, _ dimensions: [(String, String)]) -> Series {
        let dimensions = dimensions.map { "\(Self.name($0))=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        return families.withLock { families in
            let name = Self.name(label)
            let known = families[name]?.series[dimensions]
            let series = known ?? Series()
            families[name, default: Family(kind: kind)].series[dimensions] = series
            return series
        }
    }

    private static func name(_ label: String) -> String {
        String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    // MARK: The page

    /// All metrics, for a page that only the scraper may read.
    var page: String {
        let families = families.withLock { $0 }
        var lines: [String] = []
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            lines.append("# TYPE \(name) \(family.kind.rawValue)")
            for (dimensions, series) in family.series.sorted(by: { $0.key < $1.key }) {
                let content = series.content.withLock { $0 }
                switch family.kind {
                case .counter, .gauge: lines.append("\(name){\(dimensions)} \(content.value)")
                case .histogram: lines += Self.histogram(name, dimensions, content)
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func histogram(_ name: String, _ dimensions: String, _ content: Series.Content) -> [String] {
        var (lines, count) = ([String](), 0)
        let separator = dimensions.isEmpty ? "" : ","
        for (bucket, end) in (Series.buckets.map { "\($0)" } + ["+Inf"]).enumerated() {
            count += content.counts[bucket]
            lines.append("\(name)_bucket{\(dimensions)\(separator)le=\"\(end)\"} \(count)")
        }
        return lines + ["\(name)_sum{\(dimensions)} \(content.sum)", "\(name)_count{\(dimensions)} \(count)"]
    }

    // MARK: MetricsFactory

    private final class Counter: CounterHandler {
        let series: Series

        init(_ series: Series) { self.series = series }

        func increment(by amount: Int64) { series.content.withLock { $0.value += Double(amount) } }

        func reset() { series.content.withLock { $0.value = 0 } }
    }

    private final class Gauge: MeterHandler, RecorderHandler {
        let series: Series

        init(_ series: Series) { self.series = series }

        func set(_ value: Int64) { set(Double(value)) }

        func set(_ value: Double) { series.content.withLock { $0.value = value } }

        func increment(by amount: Double) { series.content.withLock { $0.value += amount } }

        func decrement(by amount: Double) { increment(by: -amount) }

        func record(_ value: Int64) { set(Double(value)) }

        func record(_ value: Double) { set(value) }
    }

    private final class Histogram: TimerHandler {
        let series: Series

        init(_ series: Series) { self.series = series }

        func recordNanoseconds(_ duration: Int64) {
            let seconds = Double(duration) / 1e9
            let bucket = Series.buckets.firstIndex { seconds <= $0 } ?? Series.buckets.count
            series.content.withLock { content in
                content.sum += seconds
                content.counts[bucket] += 1
            }
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        Counter(series(.counter, label, dimensions))
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        Gauge(series(.gauge, label, dimensions))
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Gauge(series(.gauge, label, dimensions))
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        Histogram(series(.histogram, label, dimensions))
    }

    // What has been measured stays on the page, as counters must.
    func destroyCounter(_ handler: any CounterHandler) {}

    func destroyMeter(_ handler: any MeterHandler) {}

    func destroyRecorder(_ handler: any RecorderHandler) {}

    func destroyTimer(_ handler: any TimerHandler) {}
}
