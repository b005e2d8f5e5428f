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
    /// - Throws: When it does not start, or says something else than it should.
    init(_ url: String, _ keyspace: String, lease: Int) async throws {
        process = try await InstanceProcess.start(
            try InstanceProcess.builtProduct(named: "StrataTestingInstance"),
            arguments: ["member", keyspace, String(lease)],
            environment: ["STRATA_MEMBER_URL": url]
        )
        try await says("ready")
        // It knows the server's time afterwards, and the server its scripts: no call waits for anything else.
        try await beginFetch()
        try await order("answer warm")
        try await says("got warm")
        try await order("remove")
        try await says("done")
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

    /// Has it begin a fetch, and returns when its source is being asked.
    func beginFetch() async throws {
        try await order("get")
        try await says("fetching")
    }
}

struct HolderFailure: Error, CustomStringConvertible {
    let description: String
}
