/// What MGET has found of several keys.
struct ManyValues: Sendable {
    /// In the order of the keys; `nil` for none, and for what has failed.
    var values: [[UInt8]?] = []
    /// What has failed, by the places of the keys.
    var failures: [Int: RedisError] = [:]

    /// The outcome of each key.
    var outcomes: [Result<[UInt8]?, RedisError>] {
        values.indices.map { place in failures[place].map { .failure($0) } ?? .success(values[place]) }
    }
}
