/// A server that a person has given a name to.
struct ServerContext: Decodable, Sendable, Equatable {
    /// Its address, as for `--url`.
    let url: String
    /// The file with its password.
    let passwordFile: String?
    /// The prefix of its keyspaces.
    let prefix: String?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case url
        case passwordFile
        case prefix
    }

    init(from decoder: any Decoder) throws {
        try UnknownMember.check(decoder, CodingKeys.self)
        let members = try decoder.container(keyedBy: CodingKeys.self)
        url = try members.decode(String.self, forKey: .url)
        passwordFile = try members.decodeIfPresent(String.self, forKey: .passwordFile)
        prefix = try members.decodeIfPresent(String.self, forKey: .prefix)
    }
}

/// A member of a JSON object that means nothing: it is misspelt, and what was meant would be ignored.
struct UnknownMember: Error {
    let name: String
    /// What there is.
    let known: [String]

    private struct AnyMember: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// - Throws: The first member that means nothing.
    static func check<Known: CodingKey & CaseIterable>(_ decoder: any Decoder, _ known: Known.Type) throws {
        let names = Known.allCases.map(\.stringValue)
        let members = try decoder.container(keyedBy: AnyMember.self).allKeys.map(\.stringValue).sorted()
        if let unknown = members.first(where: { !names.contains($0) }) {
            throw UnknownMember(name: unknown, known: names)
        }
    }
}
