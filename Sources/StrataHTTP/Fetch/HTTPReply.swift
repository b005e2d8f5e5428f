#if HTTP
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// What a server has sent.
struct HTTPReply: Sendable {
    var status: Int
    var fields: HTTPFields
    var body: [UInt8]
    /// How long it took to come, in seconds.
    var delay: Int
    /// When it came, in seconds since 1970.
    var arrival: Int

    /// Its fields without those of the connection, and with a date (RFC 9110 §6.6.1).
    var handedOn: HTTPFields {
        let fields = fields.handedOn
        return fields["date"].flatMap(HTTPDate.seconds) == nil ? fields.with("date", HTTPDate.text(arrival)) : fields
    }

    /// RFC 5861 §4.
    var isFailure: Bool { [500, 502, 503, 504].contains(status) }

    static func now() -> Int { Int(Date().timeIntervalSince1970) }
}
#endif
