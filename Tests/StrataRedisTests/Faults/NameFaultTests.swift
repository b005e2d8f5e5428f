import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// A process that has mounts of its own: for root, or where the kernel gives them to every user.
private enum OwnMounts {
    static let command = getuid() == 0 ? "unshare -m" : "unshare -rm"

    static let arePossible: Bool = {
        #if os(Linux)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "\(command) sh -c 'mount --bind /dev/null /etc/hosts' 2>/dev/null"]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
        #else
        return false
        #endif
    }()
}

/// Names are looked up in a process that has a file of hosts of its own.
@Suite(
    "Names that move, hang or are none",
    .enabled(if: OwnMounts.arePossible, "there is no mount namespace to be had"),
    .leavesNothing,
    .serialized,
    .timeLimit(.minutes(5))
)
struct NameFaultTests {
    private let keyspace = TestServer.uniqueName()

    /// A shell's words that have a file in the place of the hosts, and then run the program.
    private func shell(_ hosts: String) -> String {
        let inside = #"mount --make-rprivate / 2>/dev/null; mount --bind "$0" /etc/hosts && exec "$@""#
        return #"exec \#(OwnMounts.command) sh -c '\#(inside)' '\#(hosts)' "$@""#
    }

    private func withFile<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let path = NSTemporaryDirectory() + "/strata-hosts-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }

    /// Writes without another file taking the place of this one, which is the one that is mounted.
    private func write(_ text: String, to path: String) throws {
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }

    private func exists(_ key: String, _ server: RedisServer) async throws -> Bool {
        let name = Keyspace(keyspace).names(for: key.keyBytes).value
        return try await server.command(bytes: [Array("EXISTS".utf8), name.bytes]).integer == 1
    }

    enum End: CaseIterable { case dies, isDemoted }

    @Test(
        "the name moves to another server when the first dies or becomes a replica: the service follows",
        arguments: End.allCases
    )
    func moves(end: End) async throws {
        try await withFile { hosts in
            let first = try await RedisServer.start()
            let port = try #require(first.port)
            var configuration = RedisServer.Configuration(directives: ["bind 127.0.0.2"])
            configuration.port = port
            let second = try await RedisServer.start(configuration)
            try Data("127.0.0.1 cache.strata.test\n".utf8).write(to: URL(fileURLWithPath: hosts))
            let member = try await Holder(
                "redis://cache.strata.test:\(port)",
                keyspace,
                lease: 10_000,
                isPatient: false,
                shell: shell(hosts)
            )
            // A busy machine may have spent the time for Redis before the store.
            repeat {
                try await member.removes()
                try await member.reads("first", orHas: true)
            } while try await !exists("k", first)
            try write("127.0.0.2 cache.strata.test\n", to: hosts)
            switch end {
            case .dies: try await first.kill()
            case .isDemoted: try await first.command("REPLICAOF", "127.0.0.2", "\(port)")
            }
            let began = MonotonicInstant.now
            while try await !exists("k", second) {
                // A write finds out that the server does not take it any more.
                try await member.order("set second")
                _ = try await member.next()
            }
            // Memory has it, or has begun anew with its link.
            try await member.reads("second", orHas: true)
            FaultFigures.tell(17, ["followed after ms": began.duration(to: .now).milliseconds])
            try await member.process.kill()
            try await first.stop()
            try await second.stop()
        }
    }

    @Test("a look-up hangs: the source answers, and threads do not pile up")
    func hangs() async throws {
        try await RedisServer.withServer { server in
            try await withFile { hosts in
                // A process that reads it waits until another writes.
                #expect(mkfifo(hosts, 0o600) == 0)
                let member = try await Holder(
                    "redis://cache.strata.test:\(try #require(server.port))",
                    keyspace,
                    lease: 1_000,
                    isPatient: false,
                    isWarm: false,
                    shell: shell(hosts)
                )
                var most = 0
                for round in 0..<20 {
                    try await member.reads("\(round)", orHas: true)
                    most = max(most, try lookUps(of: member.process.pid))
                }
                // One for the connection of commands, and one for that of the link.
                #expect((1...2).contains(most))
                FaultFigures.tell(18, ["reads": 20, "errors": 0, "threads that look up": most])
                try await member.process.kill()
            }
        }
    }

    /// How many threads of a process look a name up.
    private func lookUps(of process: Int32) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
            .count {
                (try? String(contentsOfFile: "/proc/\(process)/task/\($0)/comm", encoding: .utf8))?
                    .hasPrefix("strata-resolve") == true
            }
    }
}
