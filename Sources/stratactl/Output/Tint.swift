#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A colour that shows at once what matters; a person who does not see it misses nothing.
enum Tint: Sendable {
    /// As it should be.
    case good
    /// Worth a look.
    case notice
    /// To be changed.
    case warning

    /// Whether colours are shown: on a terminal that has them, unless `NO_COLOR` is set (<https://no-color.org>).
    static let isShown: Bool = {
        let environment = ProcessInfo.processInfo.environment
        return StandardOutput.isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }()

    /// A text that is escaped already, in this colour if colours are shown.
    func around(_ text: some StringProtocol) -> String {
        guard Self.isShown, !text.isEmpty else { return String(text) }
        let number =
            switch self {
            case .good: 32
            case .notice: 36
            case .warning: 33
            }
        return "\u{1b}[\(number)m\(text)\u{1b}[0m"
    }
}
