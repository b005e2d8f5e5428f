import StrataRedis

/// A key in JSON.
struct JSONKey: Encodable {
    /// The user's key; missing where only its hash is known.
    let userKey: JSONBytes?
    /// Its name in Redis.
    let name: JSONBytes
    /// `spelled`, `hashed` or `irregular`.
    let form: String

    init(_ key: InspectedKey) {
        userKey = key.userKey.map { JSONBytes($0) }
        name = JSONBytes(key.name.bytes)
        form = "\(key.form)"
    }
}
