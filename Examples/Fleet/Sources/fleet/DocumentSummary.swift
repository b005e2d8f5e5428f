/// What the service tells of a file: the value that is cached.
struct DocumentSummary: Codable, Sendable, Equatable {
    let path: String
    let size: Int
    let lines: Int
    let longestLine: Int
    let hash: UInt64
    let firstHeading: String?

    init(path: String, content: [UInt8]) {
        let text = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        self.path = path
        size = content.count
        lines = content.isEmpty ? 0 : text.count - (content.last == UInt8(ascii: "\n") ? 1 : 0)
        longestLine = text.map(\.count).max() ?? 0
        hash = Self.fnv1a(content)
        firstHeading = text.first { $0.starts(with: "# ".utf8) }
            .map { String(decoding: $0.dropFirst(2), as: UTF8.self) }
    }

    /// FNV-1a, the same in every process (Fowler, Noll, Vo).
    private static func fnv1a(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
