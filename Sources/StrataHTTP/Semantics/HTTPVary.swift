/// What a response varies by (RFC 9111 §4.1).
enum HTTPVary: Hashable {
    /// No request but its own may be answered with it.
    case everything
    /// Requests whose fields of these names are the same; names in lower case, sorted, each once.
    case fields([String])

    init(_ fields: HTTPFields) {
        let names = Set(HTTPList.members(fields.values(of: "vary")).map { $0.lowercased() })
        self = names.contains("*") ? .everything : .fields(names.sorted())
    }

    /// The part of a request by which responses are told apart: `nil` for a field that is not there.
    ///
    /// Spaces around commas and the number of lines mean nothing. An empty member does where no list was meant, to a
    /// server that takes the value as it is. In lists of preferences the order and the case mean nothing either: a
    /// weight says what is preferred.
    static func selecting(_ names: [String], of request: HTTPFields) -> [(name: String, value: String?)] {
        names.map { name in
            let values = request.values(of: name)
            guard !values.isEmpty else { return (name, nil) }
            guard preferences.contains(name) else {
                return (name, values.flatMap(HTTPList.split).map(\.trimmed).joined(separator: ","))
            }
            return (name, HTTPList.members(values).map(normal).sorted().joined(separator: ","))
        }
    }

    /// A preference in lower case and without the spaces that mean nothing, which are those beside `;` and `=`.
    ///
    /// One with any other is no preference: each server may read it in its own way, so it equals no other.
    private static func normal(_ member: String) -> String {
        let parts = member.split(separator: ";", omittingEmptySubsequences: false)
            .map { $0.split(separator: "=", omittingEmptySubsequences: false).map(\.trimmed) }
        guard parts.allSatisfy({ $0.allSatisfy { !$0.utf8.contains(32) && !$0.utf8.contains(9) } }) else {
            return member
        }
        return parts.map { $0.joined(separator: "=") }.joined(separator: ";").lowercased()
    }

    private static let preferences: Set = ["accept-language", "accept-encoding", "accept-charset"]
}

/// Which responses of a URL are kept, where they vary.
struct HTTPVariants: Sendable, Hashable, Codable {
    /// How many sets of names are remembered: what a URL varies by hardly ever changes.
    private static let most = 4

    /// Is part of the keys of the variants, so that forgetting this forgets them all.
    var generation: String
    /// The names that responses vary by, those of the newest response first.
    private(set) var names: [[String]] = []

    init() {
        generation = String(UInt64.random(in: 0 ... .max), radix: 36)
    }

    /// Whether it has no more than it remembers.
    var isSound: Bool { names.count <= Self.most }

    mutating func add(_ newer: [String]) {
        names.removeAll { $0 == newer }
        names = Array(([newer] + names).prefix(Self.most))
    }
}
