#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// What a server has sent, or a handler has made.
package struct HTTPReply: Sendable {
    package var status: Int
    package var fields: HTTPFields
    package var body: [UInt8]
    /// How long it took to come, in seconds.
    package var delay: Int
    /// When it came, in seconds since 1970.
    package var arrival: Int
    /// The tags by which it can be invalidated.
    package var tags: [String] = []
    /// Whether it is for its caller alone, whatever its fields say, and its body may not be here.
    package var isUnstored = false
    /// Whether only what is the caller's alone keeps it from being stored: that says nothing of what is kept for all.
    package var isForCaller = false
    /// Whether it came from where a redirect has led to: what it says is of another URL.
    package var isRedirected = false
    /// The names of fields that are for its caller alone, in lower case.
    package var callersFields: Set<String> = []

    package init(
        status: Int,
        fields: HTTPFields,
        body: [UInt8] = [],
        delay: Int = 0,
        arrival: Int = HTTPReply.now()
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.delay = delay
        self.arrival = arrival
    }

    /// Its fields without those of the connection, and with a date (RFC 9110 §6.6.1).
    var handedOn: HTTPFields {
        let fields = fields.handedOn
        return fields["date"].flatMap(HTTPDate.seconds) == nil ? fields.with("date", HTTPDate.text(arrival)) : fields
    }

    /// RFC 5861 §4.
    var isFailure: Bool { [500, 502, 503, 504].contains(status) }

    package static func now() -> Int { Int(Date().timeIntervalSince1970) }
}
