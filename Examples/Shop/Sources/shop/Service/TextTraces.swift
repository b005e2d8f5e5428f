import Foundation
import Synchronization
import Tracing

/// Traces as text: the last spans that have ended, a JSON object a line.
///
/// It keeps the example free of one more package. In a service of yours use swift-otel, which sends spans to a
/// collector. As that it follows W3C Trace Context, so that spans of one process name those of others.
final class TextTraces: Tracer {
    /// How many spans it keeps.
    private static let most = 1_000

    private let ended = Mutex<[TextSpan.Record]>([])

    /// The spans, the one that has ended last at the end.
    var page: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let lines = ended.withLock { $0 }.compactMap { try? encoder.encode($0) }
        return lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
    }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> TextSpan {
        TextSpan(operationName, in: context(), startedAt: instant().nanosecondsSinceEpoch) { [self] record in
            ended.withLock { ended in
                if ended.count >= Self.most { ended.removeFirst(Self.most / 2) }
                ended.append(record)
            }
        }
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let place = context.spanPlace else { return }
        injector.inject("00-\(place.trace)-\(place.span)-01", forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-") ?? []
        guard parts.count == 4, parts[1].count == 32, parts[2].count == 16 else { return }
        context.spanPlace = SpanPlace(trace: String(parts[1]), span: String(parts[2]))
    }
}

/// A span that is written down when it ends.
final class TextSpan: Span {
    /// What is written.
    struct Record: Codable {
        var trace: String
        var span: String
        var parent: String?
        var name: String
        var milliseconds = 0.0
        var attributes: [String: String] = [:]
        /// The spans that it has waited for.
        var links: [String] = []
    }

    private struct State {
        var name: String
        var attributes: SpanAttributes = [:]
        var links: [String] = []
        var hasEnded = false
    }

    let context: ServiceContext
    private let place: SpanPlace
    private let parent: SpanPlace?
    private let startedAt: UInt64
    private let state: Mutex<State>
    private let write: @Sendable (Record) -> Void

    init(
        _ name: String,
        in context: ServiceContext,
        startedAt: UInt64,
        _ write: @escaping @Sendable (Record) -> Void
    ) {
        parent = context.spanPlace
        place = SpanPlace(trace: parent?.trace ?? SpanPlace.random(32), span: SpanPlace.random(16))
        var own = context
        own.spanPlace = place
        self.context = own
        self.startedAt = startedAt
        self.write = write
        state = Mutex(State(name: name))
    }

    var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    var isRecording: Bool { state.withLock { !$0.hasEnded } }

    func setStatus(_ status: SpanStatus) {}

    func addEvent(_ event: SpanEvent) {}

    func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        self.attributes["error.type"] = "\(type(of: error))"
    }

    func addLink(_ link: SpanLink) {
        guard let other = link.context.spanPlace else { return }
        state.withLock { $0.links.append("\(other.trace)-\(other.span)") }
    }

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let now = instant().nanosecondsSinceEpoch
        let state = state.withLock { state -> State? in
            defer { state.hasEnded = true }
            return state.hasEnded ? nil : state
        }
        guard let state else { return }
        var record = Record(trace: place.trace, span: place.span, parent: parent?.span, name: state.name)
        record.milliseconds = Double(now - min(startedAt, now)) / 1_000_000
        func add(_ key: String, _ value: SpanAttribute) { record.attributes[key] = Self.text(of: value) }
        state.attributes.forEach(add)
        record.links = state.links
        write(record)
    }

    private static func text(of value: SpanAttribute) -> String {
        switch value {
        case .string(let text): text
        case .bool(let flag): "\(flag)"
        case .int64(let number): "\(number)"
        case .int32(let number): "\(number)"
        case .double(let number): "\(number)"
        default: "\(value)"
        }
    }
}

/// The numbers of a span, in hexadecimal.
struct SpanPlace: Sendable {
    var trace: String
    var span: String

    static func random(_ digits: Int) -> String {
        String((0..<digits).map { _ in "0123456789abcdef".randomElement() ?? "1" })
    }
}

extension ServiceContext {
    private enum Key: ServiceContextKey { typealias Value = SpanPlace }

    fileprivate var spanPlace: SpanPlace? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }
}
