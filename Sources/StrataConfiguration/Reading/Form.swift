#if Configuration
/// How the value of a key is written.
enum Form: Hashable, Sendable {
    case text
    case duration
    case range
    case integer
    case size
    case number
    case flag
    case list
    case choice([String])
    /// One of the words, or a duration.
    case coherence

    /// What stands for no value where the key takes that.
    static let none = "none"

    /// What the documentation calls it.
    var name: String {
        switch self {
        case .text: "text"
        case .duration: "duration"
        case .range: "two durations"
        case .integer: "number"
        case .size: "size"
        case .number: "fraction"
        case .flag: "true or false"
        case .list: "list"
        case .choice(let words): words.joined(separator: ", ")
        case .coherence: "tracking, none, duration"
        }
    }
}
#endif
