/// The name of a level with the levels that it is made of: a cache can print what it is built from.
public struct LevelLabel: Sendable, Hashable, CustomStringConvertible {
    /// What the level is, with its limits.
    public let name: String
    /// The levels inside, upper before lower.
    public let parts: [LevelLabel]

    /// A label.
    public init(_ name: String, parts: [LevelLabel] = []) {
        self.name = name
        self.parts = parts
    }

    /// The tree of levels, one a line, indented by two spaces a step.
    public var description: String { lines(indent: "").joined(separator: "\n") }

    private func lines(indent: String) -> [String] {
        [indent + name] + parts.flatMap { $0.lines(indent: indent + "  ") }
    }
}
