/// Each key bears one of sixteen tags.
enum SoakTags {
    static let count = 16

    static func number(of key: Int) -> Int { key % count }

    static func name(of key: Int) -> String { "tag \(number(of: key))" }

    /// Which keys bear a tag, for the checker.
    static func keys(_ keyCount: Int) -> [Int: [Int]] {
        Dictionary(grouping: 0..<keyCount, by: number(of:))
    }
}
