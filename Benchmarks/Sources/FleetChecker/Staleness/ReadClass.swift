/// The kinds of reads whose staleness is told apart.
public enum ReadClass: String, Sendable, Hashable, Codable, CaseIterable {
    /// Without a mark, and no fault at work.
    case normal
    /// Without a mark, while a fault lasted or in the recovery after it.
    case fault
    /// Marked stale.
    case stale
    /// Marked suspect and not stale.
    case suspect
}
