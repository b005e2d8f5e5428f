#if Hummingbird
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Strata
import StrataTesting
import Testing

@testable import StrataHummingbird

@Suite("Bodies of responses that are kept, or too large for it", .timeLimit(.minutes(5)))
struct ResponseBodyTests {
    private static let policy = ResponsePolicy(freshFor: .seconds(60), bodyLimit: 100)

    private static func streamed(_ sizes: [Int], length: Int? = nil, trailers: HTTPFields? = nil) -> Response {
        Response(
            status: .ok,
            body: ResponseBody(contentLength: length) { writer in
                for size in sizes { try await writer.write(ByteBuffer(repeating: 120, count: size)) }
                try await writer.finish(trailers)
            }
        )
    }

    @Test(
        "a body up to the limit is kept; a larger one, and one that is not as long as it says, is passed on each time",
        arguments: [
            ([0], nil, true), ([100], nil, true), ([60, 0, 40], nil, true), ([60, 40], 100, true), ([101], nil, false),
            ([60, 60, 60], nil, false), ([60, 41], 101, false), ([1_000_000, 1], 1_000_001, false), ([5], 10, false),
        ] as [([Int], Int?, Bool)]
    )
    func limit(sizes: [Int], length: Int?, isKept: Bool) async throws {
        let handler = Handler { _, _ in Self.streamed(sizes, length: length) }
        try await handler.application(.inMemory(), Self.policy)
            .test(.router) { client async throws in
                for _ in 0..<2 {
                    let response = try await client.get()
                    #expect(response.body.readableBytes == sizes.reduce(0, +))
                    #expect(
                        response.headers[.contentLength] == (isKept ? "\(sizes.reduce(0, +))" : length.map { "\($0)" })
                    )
                }
                #expect(handler.runs == (isKept ? 1 : 2))
            }
    }

    @Test("a larger body reaches its reader while it is being written, and trailers arrive")
    func streaming() async throws {
        let gate = AsyncGate()
        let body = ResponseBody { writer in
            for _ in 0..<3 { try await writer.write(ByteBuffer(repeating: 120, count: 40)) }
            try await gate.pass()
            try await writer.write(ByteBuffer(string: "end"))
            try await writer.finish([.cacheControl: "no-store"])
        }
        guard case .other(let rest) = try await CollectedBody.of(Response(status: .ok, body: body), upTo: 100) else {
            Issue.record("a body of 120 bytes and more was collected")
            return
        }
        let reader = Reader { if $0 == 120 { gate.open() } }
        try await rest.write(reader)
        #expect(reader.state.withLock { $0.size } == 123)
        #expect(reader.state.withLock { $0.trailers } == [.cacheControl: "no-store"])
        // Trailers are not kept, so a response that has some is not either.
        let handler = Handler { _, _ in Self.streamed([1], trailers: [.cacheControl: "no-store"]) }
        try await handler.application(.inMemory(), Self.policy)
            .test(.router) { client async throws in
                for _ in 0..<2 { #expect(try await client.get().trailerHeaders != nil) }
                #expect(handler.runs == 2)
            }
    }

    @Test("a handler whose reader goes away is told, before the limit and after it", arguments: [10, 1_000])
    func leaving(limit: Int) async throws {
        let (ended, entered) = (AsyncGate(), AsyncGate())
        let body = ResponseBody { writer in
            defer { ended.open() }
            entered.open()
            while true { try await writer.write(ByteBuffer(repeating: 120, count: 8)) }
        }
        let reading = Task {
            if case .other(let rest) = try await CollectedBody.of(Response(status: .ok, body: body), upTo: limit) {
                try await rest.write(Reader { _ in })
            }
        }
        try await entered.pass()
        reading.cancel()
        _ = await reading.result
        try await ended.pass()
        // And one that is never read.
        let other = AsyncGate()
        let unread = ResponseBody { writer in
            defer { other.open() }
            while true { try await writer.write(ByteBuffer(repeating: 120, count: 8)) }
        }
        _ = try await CollectedBody.of(Response(status: .ok, body: unread), upTo: 10)
        try await other.pass()
    }

    @Test("a body that fails on its way fails for its reader, and nothing is kept", arguments: [1, 100])
    func failing(limit: Int) async throws {
        let handler = Handler { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "begin"))
                    throw CacheError(code: .timeout, message: "the database is away")
                }
            )
        }
        let policy = ResponsePolicy(freshFor: .seconds(60), bodyLimit: limit)
        try await handler.application(.inMemory(), policy)
            .test(.router) { client async throws in
                for number in 1...2 {
                    let response = try? await client.get()
                    #expect(response?.status != .ok && handler.runs == number)
                }
            }
    }
}

/// Takes a body.
private struct Reader: ResponseBodyWriter {
    final class State: Sendable {
        private let value = Locked((size: 0, trailers: nil as HTTPFields?))

        func withLock<Result>(_ body: (inout (size: Int, trailers: HTTPFields?)) -> Result) -> Result {
            value.withLock { body(&$0) }
        }
    }

    let state = State()
    let heard: @Sendable (Int) -> Void

    init(_ heard: @escaping @Sendable (Int) -> Void) {
        self.heard = heard
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        try Task.checkCancellation()
        let size = state.withLock { state in
            state.size += buffer.readableBytes
            return state.size
        }
        heard(size)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        state.withLock { $0.trailers = trailingHeaders }
    }
}
#endif
