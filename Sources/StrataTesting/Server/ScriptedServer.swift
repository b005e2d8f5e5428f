/// A server that answers whatever a test wants, right or wrong.
///
/// ```swift
/// // The same bytes to everybody, whatever they ask:
/// let broken = try await ScriptedServer.start(script: [.receive(1), .send(text: "$5\r\nab"), .close])
///
/// // An answer to each command:
/// let slow = try await ScriptedServer.start(answering: { command, _ in
///     command == ["PING"] ? [.trickle(text: "+PONG\r\n")] : [.hang]
/// })
/// ```
///
/// Each connection has a thread of its own, on which its closure and its steps run one after the other, so a closure
/// may block. It records what clients send. The server ends with ``stop()`` or with the last reference to it.
public final class ScriptedServer: Sendable {
    /// What the server does next on a connection.
    public enum Step: Sendable, Hashable {
        /// Sends bytes.
        case send([UInt8])
        /// Sends bytes in pieces of a size, each by itself, with a pause before each but the first.
        case trickle([UInt8], pieceSize: Int, interval: Duration)
        /// Waits until this many bytes have come since the script began, or since the last such wait ended.
        case receive(Int)
        /// Does nothing for a while, and reads nothing.
        case pause(Duration)
        /// Neither sends nor reads any more, but leaves the connection open until the server is stopped.
        case hang
        /// Ends its side (FIN), and goes on reading.
        case end
        /// Closes the connection (FIN).
        case close
        /// Resets the connection (RST). A Unix-domain socket has no reset; there it is a close.
        case reset

        /// Sends text.
        ///
        /// - Parameter text: The text, as UTF-8.
        /// - Returns: The step.
        public static func send(text: String) -> Step {
            .send(Array(text.utf8))
        }

        /// Sends text byte by byte.
        ///
        /// - Parameters:
        ///   - text: The text, as UTF-8.
        ///   - interval: The pause between two bytes; 1 ms by default, long enough for most readers to see each alone.
        /// - Returns: The step.
        public static func trickle(text: String, interval: Duration = .milliseconds(1)) -> Step {
            .trickle(Array(text.utf8), pieceSize: 1, interval: interval)
        }
    }

    /// What clients have done up to one moment.
    public struct Snapshot: Sendable, Hashable {
        /// How many connections were accepted.
        public internal(set) var accepted = 0
        /// How many of them are open.
        public internal(set) var open = 0
        /// How many bytes came over all connections.
        public internal(set) var receivedCount = 0
        /// What came over each connection, by its number from 0: the first 64 KiB.
        public internal(set) var received: [Int: [UInt8]] = [:]

        /// What came over one connection, as text.
        ///
        /// - Parameter connection: The number of the connection, from 0.
        /// - Returns: The text; empty when nothing came.
        public func text(of connection: Int) -> String {
            String(decoding: received[connection] ?? [], as: UTF8.self)
        }
    }

    private let core: ScriptedServerCore

    private init(_ core: ScriptedServerCore) {
        self.core = core
    }

    deinit {
        try? BlockingThread.start { [core] in core.stop() }
    }

    /// Starts a server that runs the same steps for each connection, from the moment it is accepted.
    ///
    /// After the last step it goes on reading, without an answer, until the client closes.
    ///
    /// - Parameters:
    ///   - kind: Where it listens: a free loopback port, the default, or a Unix-domain socket.
    ///   - script: The steps.
    /// - Returns: The running server.
    /// - Throws: ``HarnessError`` when there is no free port or descriptor.
    public static func start(at kind: TestEndpoint.Kind = .loopback, script: [Step]) async throws -> ScriptedServer {
        try await start(kind, .script(script))
    }

    /// Starts a server that answers to bytes, as they come from the socket.
    ///
    /// - Parameters:
    ///   - kind: Where it listens: a free loopback port, the default, or a Unix-domain socket.
    ///   - response: Called with the bytes of one read, cut anywhere, and the number of the connection, from 0.
    /// - Returns: The running server.
    /// - Throws: ``HarnessError`` when there is no free port or descriptor.
    public static func start(
        at kind: TestEndpoint.Kind = .loopback,
        responding response: @escaping @Sendable (_ bytes: [UInt8], _ connection: Int) -> [Step]
    ) async throws -> ScriptedServer {
        try await start(kind, .bytes(response))
    }

    /// Starts a server that answers to whole commands of the Redis protocol.
    ///
    /// A client that sends something else is reset.
    ///
    /// - Parameters:
    ///   - kind: Where it listens: a free loopback port, the default, or a Unix-domain socket.
    ///   - answer: Called with the words of a command, read as UTF-8, and the number of the connection, from 0.
    /// - Returns: The running server.
    /// - Throws: ``HarnessError`` when there is no free port or descriptor.
    public static func start(
        at kind: TestEndpoint.Kind = .loopback,
        answering answer: @escaping @Sendable (_ command: [String], _ connection: Int) -> [Step]
    ) async throws -> ScriptedServer {
        try await start(kind, .commands(answer))
    }

    private static func start(
        _ kind: TestEndpoint.Kind,
        _ behaviour: ScriptedServerCore.Behaviour
    ) async throws -> ScriptedServer {
        try await BlockingThread.run { _ in
            ScriptedServer(try ScriptedServerCore(kind, behaviour))
        }
    }

    /// Where clients connect.
    public var endpoint: TestEndpoint { core.place.endpoint }

    /// The ``endpoint`` as a Redis URL.
    public var url: String { endpoint.url }

    /// The TCP port; `nil` for a Unix-domain socket.
    public var port: UInt16? { endpoint.port }

    /// What clients have done so far.
    public var snapshot: Snapshot { core.snapshot }

    /// Waits until clients have done something.
    ///
    /// - Parameter condition: Whether they have. Called on any thread; must be quick.
    /// - Throws: `CancellationError` when the task is cancelled; ``HarnessError`` when the server is stopped.
    public func wait(until condition: @escaping @Sendable (Snapshot) -> Bool) async throws {
        try await core.waiters.wait(until: condition, entered: core.settle)
    }

    /// Closes all connections and ends the server; returns when all its threads have ended.
    ///
    /// A closure that blocks holds it up. May be called again.
    public func stop() async {
        _ = try? await BlockingThread.run { [core] _ in core.stop() }
    }
}
