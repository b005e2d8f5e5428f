#if HTTP
import NIOCore
import NIOHTTP1
import NIOPosix
import Strata
import StrataHTTP
import StrataTesting

/// A server on this machine that answers as a test says, and takes down what it was asked.
final class LocalServer: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        var fields: HTTPFields
        var body: String
    }

    enum Answer: Sendable {
        case response(Int, HTTPFields = [:], body: String = "")
        /// With a body that is no text.
        case bytes(Int, HTTPFields, [UInt8])
        /// Declares a length, sends less, and closes.
        case short(declared: Int, sent: Int)
        /// Sends a header, and then nothing more, or bytes for ever.
        case stall(endless: Bool = false)
        /// Sends nothing at all.
        case silence
        /// Closes at once.
        case close
    }

    private struct State {
        var requests: [Request] = []
        var running = 0
        var most = 0
        /// Connections that ended while they were being answered.
        var aborted = 0
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())
    private let port: Int

    private init(port: Int) {
        self.port = port
    }

    /// What it was asked so far.
    var requests: [Request] { state.withLock { $0.requests } }

    /// How many it has answered at a time at most.
    var mostAtOnce: Int { state.withLock { $0.most } }

    func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    func resource(_ path: String = "/", _ fields: [String: String] = [:]) -> HTTPResource {
        HTTPResource(url(path), fields: fields)
    }

    /// Waits until that many connections have been given up by the client.
    func aborted(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.aborted < count else { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func abort() {
        let ready = state.withLock { state in
            state.aborted += 1
            let (ready, rest) = (
                state.waiting.filter { $0.count <= state.aborted }, state.waiting.filter { $0.count > state.aborted }
            )
            state.waiting = rest
            return ready
        }
        for one in ready { one.continuation.resume() }
    }

    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    /// Runs a server for as long as the test needs it.
    static func with(
        _ answer: @escaping @Sendable (Request) async -> Answer,
        _ body: (LocalServer) async throws -> Void
    ) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        let server = LocalServer(port: listener.channel.localAddress?.port ?? 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await withThrowingDiscardingTaskGroup { connections in
                    try await listener.executeThenClose { inbound in
                        for try await connection in inbound {
                            connections.addTask { try? await server.serve(connection, answer) }
                        }
                        connections.cancelAll()
                    }
                }
            }
            let outcome = await Result { try await body(server) }
            // Not cancelled: a connection that was accepted and is not served would crash. So no more are accepted, and
            // those that were are handed over, which their event loops do, before the listener ends.
            try? await listener.channel.setOption(.autoRead, value: false).get()
            for _ in 0..<3 {
                for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { try? await loop.submit {}.get() }
            }
            try? await listener.channel.close()
            try? await group.waitForAll()
            try outcome.get()
        }
    }

    private func serve(_ connection: Connection, _ answer: @Sendable (Request) async -> Answer) async throws {
        try await connection.executeThenClose { inbound, outbound in
            var parts = inbound.makeAsyncIterator()
            var isAsked = false
            // One that was given up before its request was read is given up, too.
            defer { if !isAsked { abort() } }
            while let part = try await parts.next() {
                guard case .head(let head) = part else { continue }
                isAsked = true
                var body = ""
                while let rest = try await parts.next(), case .body(let bytes) = rest { body += String(buffer: bytes) }
                let request = Request(
                    method: head.method.rawValue,
                    path: head.uri,
                    fields: HTTPFields(head.headers.lazy.map { (name: $0.name, value: $0.value) }),
                    body: body
                )
                state.withLock { state in
                    state.requests.append(request)
                    state.running += 1
                    state.most = max(state.most, state.running)
                }
                let reply = await answer(request)
                // Before the client can have it and let another one ask.
                state.withLock { $0.running -= 1 }
                switch reply {
                case .response(let status, let fields, let body):
                    let hasBody = request.method != "HEAD" && status != 204 && status != 304
                    let length = status == 204 || status == 304 ? nil : body.utf8.count
                    try await outbound.write(.head(Self.head(status, fields, length: length)))
                    if hasBody { try await outbound.write(.body(.byteBuffer(ByteBuffer(string: body)))) }
                    try await outbound.write(.end(nil))
                case .bytes(let status, let fields, let body):
                    try await outbound.write(.head(Self.head(status, fields, length: body.count)))
                    try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body))))
                    try await outbound.write(.end(nil))
                case .short(let declared, let sent):
                    try await outbound.write(.head(Self.head(200, [:], length: declared)))
                    try await outbound.write(.body(.byteBuffer(ByteBuffer(repeating: 120, count: sent))))
                    return
                case .stall(let endless):
                    // The client may have gone before the header was written.
                    do {
                        try await outbound.write(.head(Self.head(200, [:], length: nil)))
                        while endless {
                            try await outbound.write(.body(.byteBuffer(ByteBuffer(repeating: 120, count: 65_536))))
                        }
                        while try await parts.next() != nil {}
                    } catch {}
                    abort()
                    return
                case .silence:
                    do { while try await parts.next() != nil {} } catch {}
                    abort()
                    return
                case .close:
                    return
                }
            }
        }
    }

    private static func head(_ status: Int, _ fields: HTTPFields, length: Int?) -> HTTPResponseHead {
        var headers = HTTPHeaders(fields.all.map { ($0.name, $0.value) })
        if let length, status != 304 { headers.add(name: "content-length", value: String(length)) }
        return HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
    }
}
#endif
