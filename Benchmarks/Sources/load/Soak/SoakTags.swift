/// Each key of the main room bears one of sixteen tags; one more stands for all of them, for clears of that keyspace.
enum SoakTags {
    static let count = 16
    /// In the history alone.
    static let everything = count

    static func number(of key: Int) -> Int { key % count }

    static func name(of key: Int) -> String { "tag \(number(of: key))" }

    /// Which keys bear a tag, for the checker.
    static func keys(_ keyCount: Int) -> [Int: [Int]] {
        var tags = Dictionary(grouping: 0..<keyCount, by: number(of:))
        tags[everything] = Array(0..<keyCount)
        return tags
    }
}
