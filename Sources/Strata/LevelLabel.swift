/// The name of a level with the levels that it is made of.
///
/// A cache can print its structure, and tools can walk it.
///
/// ```swift
/// print(cache)
/// // composed (failed_reads 0, failed_fills 0, late_fills 0, refreshes_under_way 0)
/// //   memory, at most 10000 entries (hits 120, misses 7, entries 7, evictions 0)
/// //   source (under_way 0, unattended 0)
///
/// for node in cache.label.nodes {
///     for counter in node.label.counters { print("\(node.path).\(counter.name)", counter.value) }
/// }
/// ```
public struct LevelLabel: Sendable, Hashable, CustomStringConvertible {
    /// A counter of a level.
    public struct Counter: Sendable, Hashable {
        /// The name, in a few words joined by underscores.
        public let name: String
        /// The count when the label was made.
        public let value: Int
        /// Whether descriptions leave the counter out, for brevity.
        let isDetail: Bool

        /// A count.
        public init(_ name: String, _ value: Int) {
            self.name = name
            self.value = value
            isDetail = false
        }

        /// A count that descriptions leave out.
        package init(detail name: String, _ value: Int) {
            self.name = name
            self.value = value
            isDetail = true
        }
    }

    /// A level somewhere in a tree of levels.
    public struct Node: Sendable, Hashable {
        /// The kinds of the levels from the root down to this one, for example `composed.pooled.redis`.
        ///
        /// The second of two parts of one kind has its number: `switched.memory`, `switched.memory_2`. So no two levels
        /// of a tree have the same path.
        public let path: String
        /// The depth in the tree; 0 for the root.
        public let depth: Int
        /// The level itself.
        public let label: LevelLabel
    }

    /// What the level is, with its limits and policies.
    public let name: String
    /// What the level has counted, when the label was made; the description shows the first of them.
    public let counters: [Counter]
    /// The levels inside, upper before lower.
    public let parts: [LevelLabel]
    /// Where the level's data are, by the names that OpenTelemetry has for that, such as `server.address`.
    package let place: [String: String]
    /// Where listeners register that want to hear how long the level's work takes.
    package let durations: [WorkDurations]
    /// Where observers of the level's events register.
    package let hubs: [EventHub]

    /// A label.
    ///
    /// - Parameters:
    ///   - name: What the level is: one or two words, then, after a comma, its limits and policies.
    ///   - counters: What the level has counted so far.
    ///   - parts: The levels inside, upper before lower.
    public init(_ name: String, counters: [Counter] = [], parts: [LevelLabel] = []) {
        self.init(name, counters: counters, parts: parts, place: [:], durations: [])
    }

    /// A label of a level that reports its work.
    ///
    /// - Parameters:
    ///   - name: As for ``init(_:counters:parts:)``.
    ///   - counters: As there.
    ///   - parts: As there.
    ///   - place: Where the level's data are.
    ///   - durations: What the level tells its durations to.
    ///   - hubs: What the level tells its events to.
    package init(
        _ name: String,
        counters: [Counter] = [],
        parts: [LevelLabel] = [],
        place: [String: String] = [:],
        durations: [WorkDurations],
        hubs: [EventHub] = []
    ) {
        self.name = name
        self.counters = counters
        self.parts = parts
        self.place = place
        self.durations = durations
        self.hubs = hubs
    }

    /// The text before the first comma of the name, in a form that metrics accept: `memory`, `at_most_once`.
    public var kind: String {
        let text = name.prefix { $0 != "," }
        return String(text.map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }

    /// This level and all inside, each before its parts.
    public var nodes: [Node] { nodes(path: kind, depth: 0) }

    /// The tree of levels, one a line with its counters, indented by two spaces a step.
    public var description: String {
        nodes.map { String(repeating: "  ", count: $0.depth) + $0.label.line }.joined(separator: "\n")
    }

    private var line: String {
        let shown = counters.filter { !$0.isDetail }
        guard !shown.isEmpty else { return name }
        return "\(name) (\(shown.map { "\($0.name) \($0.value)" }.joined(separator: ", ")))"
    }

    private func nodes(path: String, depth: Int) -> [Node] {
        var taken: Set<String> = []
        return [Node(path: path, depth: depth, label: self)]
            + parts.flatMap { part in
                var (step, number) = (part.kind, 1)
                while !taken.insert(step).inserted {
                    number += 1
                    step = "\(part.kind)_\(number)"
                }
                return part.nodes(path: "\(path).\(step)", depth: depth + 1)
            }
    }
}
