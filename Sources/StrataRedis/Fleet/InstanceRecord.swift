internal import Strata

/// What an instance tells of itself, as CBOR; docs/internals/wire-format.md has its form.
///
/// It comes from others, so it may say anything: negative counts, texts that act on a terminal. ``InstanceFigures``
/// makes figures of it.
package struct InstanceRecord: Codable, Sendable, Hashable {
    package struct Level: Codable, Sendable, Hashable {
        /// Its place in the composition, such as `composed.memory`.
        package var path: String
        package var counters: [String: Int]
    }

    /// How long a kind of work took, in microseconds.
    package struct Durations: Codable, Sendable, Hashable {
        package var count: Int
        package var median: Int
        package var p95: Int
        package var p99: Int
    }

    /// The form that this release writes; another one is not read.
    package static let form = 1
    /// Most bytes of a record, and of an answer.
    package static let longest = 32 << 10
    private static let longestName = 200

    package var form = Self.form
    package var name: String
    /// The release of Strata.
    package var version: String
    package var host: String
    package var process: Int
    /// Milliseconds since it has listed itself first.
    package var uptime: Int
    /// Why changes made elsewhere are not told; `nil` while they are.
    package var link: String?
    package var levels: [Level]
    /// By the kind of work: `fetch`, `wait`, `call`.
    package var durations: [String: Durations]
    /// The hottest keys in memory, escaped; `nil` if nothing has asked for them.
    package var hottest: [String]?
    /// The highest invalidation number that it knows, of the keyspace or of each part; `nil` for a level without a
    /// link, and from older releases.
    package var numbers: [UInt64]?

    private static let codec = Codec<Self>.cbor

    /// Reads bytes that any user of the server may have written.
    ///
    /// - Returns: `nil` when they are no record of this form.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.longest, let record = try? Self.codec.decode(bytes), record.form == Self.form else {
            return nil
        }
        self = record
    }

    init(
        name: String,
        uptime: Duration,
        link: String?,
        label: LevelLabel,
        durations: [String: Durations] = [:],
        hottest: [String]? = nil,
        numbers: [UInt64]? = nil
    ) {
        func cut(_ text: String) -> String { String(decoding: text.utf8.prefix(Self.longestName), as: UTF8.self) }
        self.name = cut(name)
        version = StrataVersion.current
        host = cut(InstanceName.host)
        process = InstanceName.process
        self.uptime = Int(clamping: uptime.saturatedNanoseconds / 1_000_000)
        self.link = link.map { cut($0) }
        levels = label.nodes.prefix(24)
            .map { node in
                let counters = node.label.counters.prefix(40).map { (cut($0.name), $0.value) }
                return Level(path: cut(node.path), counters: Dictionary(counters) { first, _ in first })
            }
        self.durations = durations
        self.hottest = hottest?.map { cut($0) }
        self.numbers = numbers
    }

    /// The record as it is written; without levels and keys if it were too long with them.
    var bytes: [UInt8] {
        var record = self
        for _ in 0..<3 {
            guard let bytes = try? Self.codec.encode(record) else { return [] }
            if bytes.count <= Self.longest { return bytes }
            if record.hottest != nil { record.hottest = nil } else { record.levels = [] }
        }
        return []
    }
}
