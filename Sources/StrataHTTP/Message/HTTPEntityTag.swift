internal import Strata

/// Strong validators for responses that have none (RFC 9110 §8.8.3).
package enum HTTPEntityTag {
    /// A tag of the body and of what says how it is to be read: another one for each other representation.
    package static func strong(of reply: HTTPReply) -> String {
        var bytes: [UInt8] = []
        for name in ["content-type", "content-encoding", "content-language"] {
            bytes += Array((reply.fields[name] ?? "").utf8) + [0]
        }
        return "\"" + String(decoding: SHA256.hexadecimal(bytes + reply.body).prefix(32), as: UTF8.self) + "\""
    }
}
