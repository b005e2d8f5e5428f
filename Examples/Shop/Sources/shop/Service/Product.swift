/// What the shop sells.
struct Product: Codable, Sendable, Hashable {
    var id: Int
    var name: String
    var category: String
    var cents: Int
    /// Counts up with each change.
    var revision: Int
}
