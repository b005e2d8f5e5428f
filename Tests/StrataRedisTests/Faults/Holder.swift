import StrataTesting

@testable import StrataRedis

/// An instance in a process of its own that can be stopped and killed in the middle of a fetch.
struct Holder {
    let process: InstanceProcess

    /// Starts it; it is ready when this returns.
    ///
    /// - Parameters:
    ///   - url: The server, or a proxy before it.
    ///   - keyspace: The keyspace that it uses.
    ///   - lease: How long its leases stand, in milliseconds.
    ///   - isPatient: Whether nothing of its client gives up on a busy machine; otherwise all is at its default.
    ///   - isWarm: Whether it is to have used the server once.
    ///   - shell: What a shell does first, in the same process; it has the program and its arguments as `"$@"`.
    /// - Throws: When it does not start, or says something else than it should.
    init(
        _ url: String,
        _ keyspace: String,
        lease: Int,
        isPatient: Bool = true,
        isWarm: Bool = true,
        shell: String? = nil
    ) async throws {
        var command = [
            try InstanceProcess.builtProduct(named: "StrataTestingInstance"), "member", keyspace, String(lease),
        ]
        if let shell { command = ["sh", "-c", shell, "sh"] + command }
        process = try await InstanceProcess.start(
            command[0],
            arguments: Array(command.dropFirst()),
            environment: ["STRATA_MEMBER_URL": url, "STRATA_MEMBER_AT_DEFAULTS": isPatient ? nil : "1"]
        )
        try await says("ready")
        guard isWarm else { return }
        // It knows the server's time afterwards, and the server its scripts: no call waits for anything else.
        try await beginFetch()
        try await order("answer warm")
        try await says("got warm")
        if isPatient {
            try await order("remove")
            try await says("done")
        } else {
            try await removes()
        }
    }

    /// Has it remove the key, again and again until that succeeds: at its defaults it may not be connected yet.
    func removes() async throws {
        repeat { try await order("remove") } while try await next() != "done"
    }

    func order(_ line: String) async throws { try await process.send(line) }

    /// Returns when it has said this.
    func says(_ expected: String) async throws {
        for await line in process.lines {
            if line == expected { return }
            throw HolderFailure(description: "it said \"\(line)\" and not \"\(expected)\"")
        }
        throw HolderFailure(description: "it ended before it said \"\(expected)\"")
    }

    /// Returns the next line.
    func next() async throws -> String {
        for await line in process.lines { return line }
        throw HolderFailure(description: "it ended")
    }

    /// Returns the rest of the next line, which has to begin with this word.
    func tells(_ word: String) async throws -> String {
        for await line in process.lines {
            if line.hasPrefix(word + " ") { return String(line.dropFirst(word.count + 1)) }
            throw HolderFailure(description: "it said \"\(line)\" and not \"\(word) …\"")
        }
        throw HolderFailure(description: "it ended before it said \"\(word) …\"")
    }

    /// Has it read the key, and answers for its source, which has to be asked.
    ///
    /// - Parameters:
    ///   - value: The answer.
    ///   - orHas: Whether it may have a value instead.
    /// - Throws: When it says something else.
    func reads(_ value: String, orHas: Bool = false) async throws {
        try await order("get")
        let line = try await next()
        if orHas, line.hasPrefix("got ") { return }
        guard line == "fetching" else { throw HolderFailure(description: "it said \"\(line)\" and not \"fetching\"") }
        try await order("answer \(value)")
        try await says("got \(value)")
    }

    /// Has it begin a fetch, and returns when its source is being asked.
    func beginFetch() async throws {
        try await order("get")
        try await says("fetching")
    }
}

struct HolderFailure: Error, CustomStringConvertible {
    let description: String
}
