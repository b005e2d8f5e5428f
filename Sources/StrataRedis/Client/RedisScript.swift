internal import Strata

/// A constant Lua script.
///
/// Users' bytes travel in its KEYS and ARGV only, never in its text.
struct RedisScript: Sendable {
    let name: String
    /// The SHA-1 of the source in hexadecimal, by which EVALSHA names it.
    ///
    /// A test asks a server whether it is right.
    let digest: String
    let source: String
}

extension RedisClient {
    /// Runs a script by EVALSHA; once by EVAL if the server does not have it, which also gives it to the server.
    ///
    /// One round trip, two after a restart, a failover or SCRIPT FLUSH. `connection` is for calls whose order matters.
    func run(
        _ script: RedisScript,
        keys: [RedisKey],
        arguments: [[UInt8]],
        repetition: Repetition,
        timeout: Duration? = nil,
        on connection: Connection? = nil
    ) async throws -> RESPValue {
        // A caller that has left does not come back to send the text; its traces have to be removed nonetheless.
        guard !Task.isCancelled else {
            return try await evaluate("EVAL", script.source, keys, arguments, repetition, timeout, connection)
        }
        let start = MonotonicInstant.coarse
        do {
            return try await evaluate("EVALSHA", script.digest, keys, arguments, repetition, timeout, connection)
        } catch let error as RedisError where error.serverCode == "NOSCRIPT" {
            let left = timeout.map { max($0 - start.duration(to: .coarse), .zero) }
            do {
                return try await evaluate("EVAL", script.source, keys, arguments, repetition, left, connection)
            } catch let second as RedisError {
                throw second.after(error.effect)
            }
        }
    }

    private func evaluate(
        _ command: StaticString,
        _ script: String,
        _ keys: [RedisKey],
        _ arguments: [[UInt8]],
        _ repetition: Repetition,
        _ timeout: Duration?,
        _ connection: Connection?
    ) async throws -> RESPValue {
        try await execute(repetition, timeout: timeout, slot: keys.first.map { HashSlot.of($0) }, on: connection) {
            writer in
            Self.encode(command, script, keys, arguments, &writer)
        }
    }

    /// Writes a call of a script.
    static func encode(
        _ command: StaticString,
        _ script: String,
        _ keys: [RedisKey],
        _ arguments: [[UInt8]],
        _ writer: inout CommandWriter
    ) {
        writer.begin(3 + keys.count + arguments.count)
        writer.argument(command)
        writer.argument(script)
        writer.argument(Int64(keys.count))
        for key in keys { writer.argument(key) }
        for argument in arguments { writer.argument(argument) }
    }
}
