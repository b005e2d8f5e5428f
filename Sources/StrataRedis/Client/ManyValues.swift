/// What MGET has found of several keys.
struct ManyValues: Sendable {
    /// In the order of the keys; `nil` for none, and for what has failed.
    var values: [[UInt8]?] = []
    /// What has failed, by the places of the keys.
    var failures: [Int: RedisError] = [:]

    init() {}

    /// What several commands have found, one after the other.
    init(joining parts: [ManyValues]) {
        for part in parts {
            for (place, error) in part.failures { failures[values.count + place] = error }
            values += part.values
        }
    }

    /// What has come of each key.
    var outcomes: [Result<[UInt8]?, RedisError>] {
        values.indices.map { place in failures[place].map { .failure($0) } ?? .success(values[place]) }
    }
}
