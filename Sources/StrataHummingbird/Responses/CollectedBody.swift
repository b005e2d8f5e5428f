#if Hummingbird
internal import HTTPTypes
internal import Hummingbird
internal import Strata

/// The body of a response, collected up to a limit.
enum CollectedBody {
    /// All of it.
    case whole([UInt8])
    /// A larger one, from its first byte on.
    case larger(ResponseBody)

    /// Collects a body; one that is larger goes on being written when the result is.
    ///
    /// A body of a length that is known is not touched when that is above the limit. One that tells no length is written
    /// in a task of its own, since it may have to outlast this call; the task belongs to the result, and ends with it.
    static func of(_ body: ResponseBody, upTo limit: Int) async throws -> CollectedBody {
        if let length = body.contentLength, length > limit { return .larger(body) }
        let relay = BodyRelay()
        let source = BodySource(relay, body)
        var parts: [ByteBuffer] = []
        var size = 0
        while let part = try await relay.next() {
            parts.append(part)
            size += part.readableBytes
            guard size <= limit else { return .larger(rest(parts, source)) }
        }
        // Trailers are not kept.
        if relay.trailers != nil { return .larger(rest(parts, source)) }
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

/// A body that is being written into a relay, until it ends or nobody reads it any more.
private final class BodySource: Sendable {
    let relay: BodyRelay
    private let task: Task<Void, Never>

    init(_ relay: BodyRelay, _ body: ResponseBody) {
        self.relay = relay
        task = Task {
            do {
                try await body.write(RelayWriter(relay: relay))
                // A body that was not finished has no end.
                relay.end(.failure(CancellationError()))
            } catch {
                relay.end(.failure(error))
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
