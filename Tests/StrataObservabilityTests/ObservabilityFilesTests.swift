#if Observability
import Foundation
import Testing

@testable import StrataObservability

/// The alerts and the dashboard ask for what is exported, in the names that Prometheus has for it.
@Suite("Alerts and dashboard")
struct ObservabilityFilesTests {
    private func text(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        return try String(contentsOf: root.appending(path: "Observability/\(name)"), encoding: .utf8)
    }

    private static func underscored(_ name: String) -> String { name.replacingOccurrences(of: ".", with: "_") }

    /// The names of a metric's series in Prometheus.
    private func series(_ metric: Metric) -> [String] {
        let name = Self.underscored(metric.name)
        return metric.kind == .timer ? ["_bucket", "_count", "_sum"].map { name + $0 } : [name]
    }

    private func words(_ text: String) -> Set<String> {
        Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
            .filter { word in ["cache_", "db_", "server_", "error_"].contains { word.hasPrefix($0) } }
    }

    @Test("every name is a metric or a dimension", arguments: ["alerts.yml", "grafana-dashboard.json"])
    func names(file: String) throws {
        let metrics = Set(Metric.all.flatMap { series($0) })
        let dimensions = Set(Metric.all.flatMap(\.dimensions).map { Self.underscored($0) })
        let used = words(try text(file))
        #expect(!used.isDisjoint(with: metrics))
        #expect(used.subtracting(metrics).subtracting(dimensions) == [])
    }

    @Test("the dashboard shows every metric")
    func dashboard() throws {
        let used = words(try text("grafana-dashboard.json"))
        let missing = Metric.all.filter { used.isDisjoint(with: series($0)) }.map(\.name)
        #expect(missing == [])
        #expect(throws: Never.self) {
            try JSONSerialization.jsonObject(with: Data(text("grafana-dashboard.json").utf8))
        }
    }

    @Test("every alert says what it is, why it matters and what to do, and is on the page")
    func alerts() throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).appending(path: "../../../docs/observability.md").standardized,
            encoding: .utf8
        )
        let alerts = try text("alerts.yml").components(separatedBy: "- alert: ").dropFirst()
        #expect(!alerts.isEmpty)
        for alert in alerts {
            let name = alert.prefix { $0.isLetter }
            for part in ["expr:", "severity:", "summary:", "description:", "action:"] {
                #expect(alert.contains(part), "\(name) lacks \(part)")
            }
            #expect(page.contains("`\(name)`"), "\(name) is not in docs/observability.md")
        }
    }
}
#endif
