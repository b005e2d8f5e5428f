/// One thing that `doctor` has looked at.
struct Finding: Encodable, Hashable, Sendable {
    enum Severity: String, Encodable, Sendable {
        /// As it should be.
        case ok
        /// Worth knowing; it may be as intended.
        case note
        /// The server has refused to tell.
        case unknown
        /// Something to be changed.
        case warning

        /// The colour in which a person sees it.
        var tint: Tint? {
            switch self {
            case .ok: .good
            case .note, .unknown: .notice
            case .warning: .warning
            }
        }
    }

    /// What was looked at, in a word.
    let check: String
    /// Which node of a cluster; `nil` for what concerns all of them, and for a single server.
    var server: String?
    let severity: Severity
    /// What was found, and what it means.
    let text: String
    /// What to do.
    let advice: String?

    static func ok(_ check: String, _ text: String) -> Finding {
        Finding(check: check, severity: .ok, text: text, advice: nil)
    }

    static func note(_ check: String, _ text: String, _ advice: String? = nil) -> Finding {
        Finding(check: check, severity: .note, text: text, advice: advice)
    }

    static func warning(_ check: String, _ text: String, _ advice: String) -> Finding {
        Finding(check: check, severity: .warning, text: text, advice: advice)
    }

    /// What was found, with the node that it was found at.
    var line: String { (server.map { "\($0): " } ?? "") + text }

    /// The same about a node of a cluster.
    func at(_ server: String) -> Finding {
        var finding = self
        finding.server = server
        return finding
    }

    /// What the server has refused to tell.
    static func unknown(_ check: String, _ refusal: Refusal) -> Finding {
        Finding(
            check: check,
            severity: .unknown,
            text: "not known: \(refusal.command) was refused (\(refusal.answer))",
            advice: nil
        )
    }
}

/// A command that the server does not run for this user, or not at all.
struct Refusal: Error, Hashable, Sendable {
    let command: String
    /// What the server has said, fit for a terminal.
    let answer: String
    /// Whether it is a matter of rights.
    let isOfRights: Bool
}
