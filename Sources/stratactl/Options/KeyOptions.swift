import ArgumentParser
import Strata
import StrataRedis

/// How keys on the command line are to be read.
struct KeyOptions: ParsableArguments {
    @Flag(help: "Take each key as the full name of a key in Redis, as `keys --names` prints it.")
    var rawKey = false

    func key(
        _ text: String,
        in space: KeyspaceOptions,
        _ connection: ConnectionOptions
    ) throws(Failure) -> InspectedKey {
        let keyspace = try space.resolved(connection)
        guard rawKey else {
            guard space.escaped else { return InspectedKey(text.keyBytes, in: keyspace) }
            guard let key = InspectedKey(escaped: text, in: keyspace) else {
                throw Failure(.usage, "a key has an invalid backslash escape, or is not one of the keyspace's")
            }
            return key
        }
        guard let bytes = space.escaped ? PrintableText.unescape(text) : Array(text.utf8) else {
            throw Failure(.usage, "a key has an invalid backslash escape")
        }
        guard let key = InspectedKey(name: RedisKey(bytes), in: keyspace) else {
            throw Failure(.usage, "--raw-key: a name does not begin with \(keyspace):v: or \(keyspace):l:")
        }
        return key
    }
}
