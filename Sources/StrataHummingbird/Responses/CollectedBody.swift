#if Hummingbird
internal import HTTPTypes
internal import Hummingbird
internal import Strata

/// The body of a response, collected up to a limit.
enum CollectedBody {
    /// All of it.
    case whole([UInt8])
    /// One that is larger, or not whole, from its first byte on.
    case other(ResponseBody)

    /// Collects a body; one that is larger goes on being written when the result is.
    ///
    /// A body of a length that is known is not touched when that is above the limit. Others are written in a task of
    /// their own, since that may have to outlast this call; the task belongs to the result, and ends with it.
    ///
    /// One that is not as long as was declared is not the whole: it goes to its caller as it is.
    static func of(_ response: Response, upTo limit: Int) async throws -> CollectedBody {
        let body = response.body
        let lengths = [body.contentLength, response.headers[.contentLength].flatMap { Int($0) }].compactMap(\.self)
        if lengths.contains(where: { $0 > limit }) { return .other(body) }
        let relay = BodyRelay()
        let source = BodySource(relay, body)
        var parts: [ByteBuffer] = []
        var size = 0
        while let part = try await relay.next() {
            parts.append(part)
            size += part.readableBytes
            guard size <= limit else { return .other(rest(parts, source)) }
        }
        // Trailers are not kept.
        guard relay.trailers == nil, lengths.allSatisfy({ $0 == size }) else { return .other(rest(parts, source)) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        for part in parts { bytes.append(contentsOf: part.readableBytesView) }
        return .whole(bytes)
    }

    private static func rest(_ parts: [ByteBuffer], _ source: BodySource) -> ResponseBody {
        ResponseBody { writer in
            try await writer.write(contentsOf: parts)
            while let part = try await source.relay.next() { try await writer.write(part) }
            try await writer.finish(source.relay.trailers)
        }
    }
}

/// A body that was written without its end.
struct UnfinishedBody: Error {}

/// A body that is being written into a relay, until it ends or its reader has left.
private final class BodySource: Sendable {
    let relay: BodyRelay
    private let task: Task<Void, Never>

    init(_ relay: BodyRelay, _ body: ResponseBody) {
        self.relay = relay
        task = Task {
            do {
                try await body.write(RelayWriter(relay: relay))
                relay.end(.failure(UnfinishedBody()))
            } catch {
                // A body may throw a cancellation by itself, and has failed then.
                relay.end(.failure(error is CancellationError && !Task.isCancelled ? UnfinishedBody() : error))
            }
        }
    }

    deinit { task.cancel() }
}

/// Hands the parts of a body over to a relay.
private struct RelayWriter: ResponseBodyWriter {
    let relay: BodyRelay

    mutating func write(_ buffer: ByteBuffer) async throws { try await relay.send(buffer) }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { relay.end(.success(trailingHeaders)) }
}
#endif
