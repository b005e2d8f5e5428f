extension HTTPContent {
    /// Whether a 304 speaks of this response: a strong tag in it is this one's (RFC 9111 §4.3.4), and it is of the same
    /// URL.
    func isMeant(by reply: HTTPReply) -> Bool {
        guard !reply.isRedirected else { return false }
        guard let tag = reply.fields["etag"], tag.hasPrefix("\""), let own = fields["etag"], own.hasPrefix("\"") else {
            return true
        }
        return tag == own
    }

    /// Whether a response to HEAD shows that this one has changed (RFC 9111 §4.3.5).
    func isContradicted(by reply: HTTPReply) -> Bool {
        ["etag", "last-modified", "content-length"]
            .contains { name in
                guard let new = reply.fields[name], let own = fields[name] else { return false }
                return new != own
            }
    }

    /// This part with another one of the same representation, where they touch (RFC 9111 §3.4); `nil` if they do not
    /// touch, or have more than this many bytes together.
    func joined(with other: HTTPContent, upTo limit: Int) -> HTTPContent? {
        guard status == 206, other.status == 206, HTTPConditions.areStronglyEqual(fields["etag"], other.fields["etag"]),
            let part = HTTPPart(fields, body: body.count), let older = HTTPPart(other.fields, body: other.body.count),
            let length = part.length, older.length == length,
            part.bytes.lowerBound <= older.bytes.upperBound, older.bytes.lowerBound <= part.bytes.upperBound
        else { return nil }
        let end = max(part.bytes.upperBound, older.bytes.upperBound)
        guard end - min(part.bytes.lowerBound, older.bytes.lowerBound) <= limit else { return nil }
        let before = older.bytes.lowerBound..<max(older.bytes.lowerBound, part.bytes.lowerBound)
        let after = min(part.bytes.upperBound, older.bytes.upperBound)..<older.bytes.upperBound
        let offset = older.bytes.lowerBound
        var joined = self
        joined.body = Array(other.body[0..<(before.count)]) + body
        if after.lowerBound >= part.bytes.upperBound {
            joined.body += other.body[(after.lowerBound - offset)..<(after.upperBound - offset)]
        }
        let first = min(part.bytes.lowerBound, offset)
        let bytes = first..<(first + joined.body.count)
        joined.fields = fields.with("content-length", String(bytes.count))
        if bytes.count == length {
            joined.status = 200
            joined.fields = joined.fields.without(["content-range"])
        } else {
            joined.fields = joined.fields.with("content-range", HTTPPart(bytes: bytes, length: length).text)
        }
        return joined
    }
}
