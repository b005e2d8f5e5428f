public import Strata

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A response with a body, as it is kept.
public struct HTTPContent: Sendable, Hashable, Codable, SchemaVersioned, Costed {
    /// The number of the stored form.
    public static let schemaVersion: UInt32 = 2

    /// The status: 200 to 299, or any status in what ``HTTPCache/respond(to:)`` keeps.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The body.
    public var body: [UInt8]
    /// How long it may be used from its arrival or its last revalidation on.
    public var lifetime: HTTPLifetime
    /// Whether a redirect has led to it: what it can be told by is another URL's.
    var isRedirected = false
    /// Which responses of a URL are kept: then this is no response itself.
    var variants: HTTPVariants?

    /// A response with the given parts.
    public init(status: Int, fields: HTTPFields, body: [UInt8], lifetime: HTTPLifetime) {
        self.status = status
        self.fields = fields
        self.body = body
        self.lifetime = lifetime
    }

    /// The body as Foundation's `Data`.
    public var data: Data { Data(body) }

    /// The list of the responses that are kept of one URL.
    init(_ variants: HTTPVariants) {
        self.init(status: 0, fields: [:], body: [], lifetime: HTTPLifetime(isStorable: true))
        self.variants = variants
    }

    /// The type of the body, as the server has said.
    public var contentType: String? { fields["content-type"] }

    /// What to send to ask whether this is still the newest (RFC 9110 §13.1); empty when there is nothing to ask by.
    var conditions: [(name: String, value: String)] {
        guard (200..<300).contains(status), status != 206, !isRedirected else { return [] }
        var conditions: [(name: String, value: String)] = []
        if let tag = fields["etag"] { conditions.append(("if-none-match", tag)) }
        if let date = fields["last-modified"], HTTPDate.seconds(date) != nil {
            conditions.append(("if-modified-since", date))
        }
        return conditions
    }

    /// The approximate bytes that it takes in memory: the body, the fields, and a kibibyte for the key and the rest of
    /// the entry.
    ///
    /// Otherwise responses without a body would cost nothing, and a client that asks for URLs that do not exist would
    /// fill memory.
    public var cost: Int {
        body.count + 1_024 + fields.all.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
    }

    private enum CodingKeys: String, CodingKey {
        case status, fields, body, lifetime, isRedirected = "redirected", variants
    }

    /// Reads the stored form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        status = try container.decode(Int.self, forKey: .status)
        fields = try container.decode(HTTPFields.self, forKey: .fields)
        body = Array(try container.decode(Data.self, forKey: .body))
        lifetime = try container.decode(HTTPLifetime.self, forKey: .lifetime)
        isRedirected = try container.decodeIfPresent(Bool.self, forKey: .isRedirected) ?? false
        variants = try container.decodeIfPresent(HTTPVariants.self, forKey: .variants)
        // Others may write to the place where it lies.
        guard (0...999).contains(status), lifetime.isSound, variants?.isSound != false else {
            let text = "a status, a lifetime or a list of variants that no response has"
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
        }
    }

    /// Writes the stored form: the body as bytes, not as a list of numbers.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(status, forKey: .status)
        try container.encode(fields, forKey: .fields)
        try container.encode(Data(body), forKey: .body)
        try container.encode(lifetime, forKey: .lifetime)
        if isRedirected { try container.encode(true, forKey: .isRedirected) }
        try container.encodeIfPresent(variants, forKey: .variants)
    }
}
