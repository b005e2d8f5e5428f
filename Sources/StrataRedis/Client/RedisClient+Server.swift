internal import Strata

extension RedisClient {
    /// PING: returns when the server has answered.
    ///
    /// One round trip.
    public func ping(timeout: Duration? = nil) async throws {
        let reply = try await execute(.repeatable, timeout: timeout, expecting: .status) { writer in
            writer.begin(1)
            writer.argument("PING" as StaticString)
        }
        guard case .status("PONG") = reply else { throw unexpected("PING") }
    }

    /// PING, for a sign of life alone: it is one, too, when the server refuses it and serves reads all the same.
    func answers(timeout: Duration? = nil) async throws {
        do {
            try await ping(timeout: timeout)
        } catch let error as RedisError {
            guard let text = error.serverMessage, RESPValue.error(text).isRefusedPing else { throw error }
        }
    }

    /// Waits until the server gives a sign of life.
    ///
    /// - Parameters:
    ///   - limit: How long.
    ///   - lacks: What is still missing when it has given one; `nil` for nothing.
    /// - Throws: ``RedisError/Code/timeout`` with the reason; ``RedisError/Code/shutDown``; `CancellationError`.
    func answers(within limit: Duration, lacking lacks: () -> String? = { nil }) async throws {
        let end = MonotonicInstant.now.advanced(by: limit)
        var failure = "the server does not answer"
        while .now < end {
            do {
                try await answers(timeout: min(configuration.commandTimeout, MonotonicInstant.now.duration(to: end)))
                guard let missing = lacks() else { return }
                failure = missing
            } catch let error as RedisError {
                guard error.code != .shutDown else { throw error }
                failure = error.message
            }
            try await Task.pause(for: .milliseconds(5))
        }
        throw RedisError(
            code: .timeout,
            message: "not ready within \(limit): \(failure)",
            endpoint: configuration.place
        )
    }

    /// TIME: the server's clock, as the time since the beginning of 1970 in UTC.
    ///
    /// One round trip.
    public func time(timeout: Duration? = nil) async throws -> Duration { try await time(at: nil, timeout: timeout) }

    /// The clock of the server that serves a slot; of any primary for `nil`.
    func time(at slot: UInt16?, timeout: Duration? = nil) async throws -> Duration {
        let reply = try await execute(
            .repeatable,
            timeout: timeout,
            slot: slot,
            expecting: .array,
            encode: Self.encodeTime
        )
        guard let time = Self.time(in: reply) else { throw unexpected("TIME") }
        return time
    }

    static func encodeTime(_ writer: inout CommandWriter) {
        writer.begin(1)
        writer.argument("TIME" as StaticString)
    }

    static func time(in reply: RESPValue) -> Duration? {
        guard case .array(let parts) = reply, parts.count == 2,
            let seconds = parts[0].number(in: ServerNumber.seconds),
            let microseconds = parts[1].number(in: ServerNumber.microseconds)
        else { return nil }
        return .seconds(seconds) + .microseconds(microseconds)
    }

    /// INFO: the server's own account of itself, by field.
    ///
    /// One round trip.
    ///
    /// - Parameter section: For example `server` or `stats`; `nil` means the server's default selection.
    /// - Returns: The fields' values as text.
    /// - Throws: ``RedisError``; `CancellationError`.
    public func info(_ section: String? = nil) async throws -> [String: String] {
        let reply = try await execute(.repeatable, expecting: [.bytes, .large]) { writer in
            writer.begin(section == nil ? 1 : 2)
            writer.argument("INFO" as StaticString)
            if let section { writer.argument(section) }
        }
        guard let text = reply.string else { throw unexpected("INFO") }
        return ServerFields.read(text)
    }

    /// CLIENT with its subcommand and arguments, for example `"LIST"` or `"KILL", "ID", "7"`.
    ///
    /// One round trip.
    public func client(_ arguments: String...) async throws -> RESPValue {
        try await execute(.once) { writer in
            writer.begin(arguments.count + 1)
            writer.argument("CLIENT" as StaticString)
            for argument in arguments { writer.argument(argument) }
        }
    }

    /// PUBLISH: sends a message to the present subscribers of a channel.
    ///
    /// One round trip.
    ///
    /// - Returns: How many subscribers of this server got it.
    @discardableResult
    public func publish(_ message: [UInt8], to channel: [UInt8]) async throws -> Int {
        let reply = try await execute(.once, expecting: .integer) { writer in
            writer.begin(3)
            writer.argument("PUBLISH" as StaticString)
            writer.argument(channel)
            writer.argument(message)
        }
        guard let receivers = reply.count else { throw unexpected("PUBLISH") }
        return receivers
    }
}
