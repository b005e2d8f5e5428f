import Foundation
import Strata
import StrataRedis
import Testing

/// What `docs/options.md` gives as defaults are the defaults.
@Suite("The page of options")
struct OptionsPageTests {
    /// The defaults in a section, by the settings' names.
    private func defaults(_ section: String) throws -> [String: String] {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        let page = try String(contentsOf: root.appending(path: "docs/options.md"), encoding: .utf8)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.drop { $0 == "#" } == " \(section)" }, "no section \(section)")
        var defaults: [String: String] = [:]
        for line in lines[(start + 1)...].prefix(while: { !$0.hasPrefix("#") }) {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count > 1, cells[0].hasPrefix("`"), cells[0].hasSuffix("`") else { continue }
            let name = String(cells[0].dropFirst().dropLast())
            if defaults[name] == nil { defaults[name] = cells[1].replacingOccurrences(of: "`", with: "") }
        }
        return defaults
    }

    /// The ways in which the page may write a value.
    private func texts(_ value: Any) -> Set<String> {
        switch value {
        case let value as Duration: return [text(value)]
        case let value as ClosedRange<Duration>: return [text(value.lowerBound) + " … " + text(value.upperBound)]
        case let value as Double: return [value == value.rounded() ? String(Int(value)) : String(value)]
        case let value as Int: return texts(number: value)
        default:
            let mirror = Mirror(reflecting: value)
            guard mirror.displayStyle == .optional else { return ["\(value)"] }
            return mirror.children.first.map { texts($0.value) } ?? ["none"]
        }
    }

    private func texts(number: Int) -> Set<String> {
        var texts: Set<String> = [String(number)]
        if number % (1 << 20) == 0 { texts.insert("\(number >> 20) MiB") }
        if number % (1 << 10) == 0 { texts.insert("\(number >> 10) KiB") }
        var grouped = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3) { grouped.append(" ") }
            grouped.append(digit)
        }
        texts.insert(String(grouped.reversed()))
        return texts
    }

    private func text(_ duration: Duration) -> String {
        let milliseconds = Int(duration / .milliseconds(1))
        if milliseconds == 0 { return "0" }
        if milliseconds % 60_000 == 0 { return "\(milliseconds / 60_000) min" }
        return milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
    }

    private func compare(_ section: String, _ settings: [(name: String, value: Any)]) throws {
        let defaults = try defaults(section)
        #expect(!settings.isEmpty)
        for (name, value) in settings {
            let documented = try #require(defaults[name], "\(section) has no row for \(name)")
            #expect(texts(value).contains(documented), "\(section): \(name) is \(texts(value)) and not \(documented)")
        }
    }

    private func settings(_ options: Any) -> [(name: String, value: Any)] {
        Mirror(reflecting: options).children.compactMap { child in child.label.map { ($0, child.value) } }
    }

    @Test("every setting of these types has a row with its default")
    func types() throws {
        try compare("FreshnessPolicy", settings(FreshnessPolicy()))
        try compare("BreakerOptions", settings(BreakerOptions()))
        try compare("ReplyLimits", settings(ReplyLimits()))
        try compare("LeaseOptions", settings(LeaseOptions()))
        try compare("RetryPolicy", settings(RetryPolicy()))
    }

    // Its mirror leaves out user name and password.
    @Test("settings of the client")
    func configuration() throws {
        let configuration = try RedisConfiguration(url: "redis://localhost")
        try compare(
            "RedisClient: RedisConfiguration",
            [
                ("username", configuration.username as Any), ("password", configuration.password as Any),
                ("database", configuration.database), ("clientName", configuration.clientName as Any),
                ("connections", configuration.connections), ("connectTimeout", configuration.connectTimeout),
                ("commandTimeout", configuration.commandTimeout), ("redisBudget", configuration.redisBudget),
                ("invalidationLimit", configuration.invalidationLimit),
                ("inFlightLimit", configuration.inFlightLimit), ("queuedBytesLimit", configuration.queuedBytesLimit),
                ("healthWindow", configuration.healthWindow), ("keepalive", configuration.keepalive),
                ("reconnectDelay", configuration.reconnectDelay),
                ("linkPingInterval", configuration.linkPingInterval),
                ("linkPingTimeout", configuration.linkPingTimeout),
                ("replicaLagLimit", configuration.replicaLagLimit as Any), ("tracking", configuration.tracking),
            ]
        )
    }
}
