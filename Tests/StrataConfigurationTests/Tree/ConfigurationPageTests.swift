#if Configuration
import Foundation
import Testing

@testable import StrataConfiguration

/// `docs/configuration.md` has the keys that the code reads, and `docs/options.md` no setting that has none.
@Suite("The page of keys")
struct ConfigurationPageTests {
    private struct Row: Hashable, CustomStringConvertible {
        var path: String
        var form: String
        var standard: String
        var takesEffect: String

        var description: String { "| `\(path)` | \(form) | \(standard) | \(takesEffect) |" }
    }

    private func page(_ name: String) throws -> [String] {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        return try String(contentsOf: root.appending(path: "docs/\(name)"), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    }

    private func cells(_ line: String) -> [String] {
        line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func unquoted(_ text: String) -> String { text.replacing("`", with: "") }

    @Test("every key has a row with its form, its default and whether it takes effect at once, and there is no other")
    func keys() throws {
        var section = ""
        var rows: [Row] = []
        for line in try page("configuration.md") {
            if line.hasPrefix("#") {
                section =
                    ["## redis": "redis.", "## defaults and caches": "defaults.", "## retry": "retry."]
                    .first { line.hasPrefix($0.key) }?
                    .value ?? (line.hasPrefix("## ") ? "" : section)
            }
            let cells = cells(line)
            guard !section.isEmpty, cells.count == 5, cells[0].hasPrefix("`") else { continue }
            rows.append(
                Row(
                    path: section + unquoted(cells[0]),
                    form: unquoted(cells[1]),
                    standard: unquoted(cells[2]),
                    takesEffect: cells[3]
                )
            )
        }
        let keys = ConfigurationKey.all.filter { !$0.path.hasPrefix("caches.") }
        let wanted = keys.map { key in
            Row(
                path: key.path,
                form: key.isSecret ? "secret" : key.form,
                // The page says of this one what it is.
                standard: key.path == "redis.instanceName" ? "host and process" : key.standard ?? "",
                takesEffect: key.isReloadable ? "at once" : "at the next start"
            )
        }
        #expect(rows.count == Set(rows).count)
        for row in wanted where !rows.contains(row) { Issue.record("missing: \(row)") }
        for row in rows where !wanted.contains(row) { Issue.record("of no key: \(row)") }
    }

    /// The sections of the options, where their keys are, and the settings that have none.
    private static let sections: [(heading: String, prefix: String, without: Set<String>)] = [
        ("FreshnessPolicy", "defaults.freshness.", []),
        ("LeaseOptions", "defaults.leases.", ["limiter"]),
        ("RetryPolicy", "retry.", []),
        ("BreakerOptions", "redis.breaker.", []),
        ("ReplyLimits", "redis.replyLimits.", []),
        ("TLSOptions", "redis.tls.", []),
        ("SentinelOptions", "redis.sentinels.", []),
        // The endpoint is in the URL or in `endpoints`; the others are sections.
        ("RedisClient: RedisConfiguration", "redis.", ["endpoint", "credentials", "tls", "breaker", "replyLimits"]),
        (
            "RedisLevel", "defaults.",
            ["keyspace", "freshness", "ready(within:)", "changes(bufferingNewest:)", "sweep(rate:)"]
        ),
    ]

    @Test("every setting of the page of options has a key", arguments: sections.map(\.heading))
    func options(heading: String) throws {
        let section = try #require(Self.sections.first { $0.heading == heading })
        let lines = try page("options.md")
        let start = try #require(lines.firstIndex { $0.drop { $0 == "#" } == " \(heading)" })
        let rows = lines[(start + 1)...].prefix { !$0.hasPrefix("#") }
        // The first table of the section alone: the others are of URLs and presets.
        let table = rows.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
        let known = Set(ConfigurationKey.all.map(\.path))
        var count = 0
        for row in table {
            guard let name = cells(row).first, name.hasPrefix("`") else { continue }
            for part in name.split(separator: ",").map({ unquoted($0.trimmingCharacters(in: .whitespaces)) }) {
                count += 1
                guard !section.without.contains(part) else { continue }
                #expect(known.contains(section.prefix + part), "\(part) has no key")
            }
        }
        #expect(count > 1)
    }
}
#endif
