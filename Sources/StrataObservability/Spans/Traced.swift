#if Observability
public import Strata
public import Tracing

/// A level whose reads are spans.
///
/// Put it below memory, around the first level that does I/O:
///
/// ```swift
/// let products = memory.compose(level.fetching { id in try await database.product(id) }.traced(as: "products"))
/// ```
///
/// | span | when | attributes |
/// |---|---|---|
/// | `cache get` | a read that memory has not answered, or a refresh | `cache.name`, `cache.level`, `cache.result`, `cache.key.hash`, `cache.refresh`, `cache.age`; of a batch `cache.keys` and `cache.hits` |
/// | `cache fetch`, its child | this read asks the source | `cache.name` |
///
/// The steps of the read are events of its span, with their level, their duration in seconds, and the instance that it
/// waited for. A read that joins another one is linked to the other's span, and so is a read that waits for another
/// instance, if the tracers of both follow W3C Trace Context. Spans of the source are children of `cache fetch`. An
/// error is recorded by its kind (`error.type`) and not by its text.
///
/// A hit in the memory of the level inside has no span.
public struct Traced<Base: CacheLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose reads are traced.
    public let base: Base
    private let name: String
    private let ownTracer: (any Tracer)?
    private let reads = ReadsUnderWay<Base.Key>()

    init(_ base: Base, _ name: String, _ tracer: (any Tracer)?) {
        self.base = base
        self.name = name
        ownTracer = tracer
    }

    /// Joins only while there is no tracer: a span is made by ``entry(for:_:)``.
    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? {
        guard tracer == nil else { return nil }
        return try await base.join(key, if: isSought)
    }

    /// Reads inside a span.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard let tracer, request.rights == nil, request.awaited == nil else {
            return try await base.entry(for: key, request)
        }
        return try await traced(tracer, request) { span, request in
            let (leader, number) = reads.enter(key, span.context)
            defer { if let number { reads.leave(key, number) } }
            if span.isRecording {
                span.attributes["cache.key.hash"] = Self.hexadecimal(base.fingerprint(of: key))
            }
            let entry: Entry<Value>?
            do {
                entry = try await base.entry(for: key, request.read)
            } catch {
                link(span, leader, request, isJoined: false)
                throw error
            }
            link(span, leader, request, isJoined: entry?.isJoined == true)
            if span.isRecording { note(entry, in: span) }
            return entry
        }
    }

    /// Reads inside one span for all keys.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        guard let tracer, request.rights == nil, request.awaited == nil else {
            return try await base.entries(for: keys, request)
        }
        return try await traced(tracer, request) { span, request in
            span.attributes["cache.keys"] = keys.count
            let entries = try await base.entries(for: keys, request.read)
            span.attributes["cache.hits"] = entries.count { $0?.value != nil }
            return entries
        }
    }

    // The label of the level inside: a span changes no metric's path.
    public var label: LevelLabel { base.label }

    private var tracer: (any Tracer)? {
        let tracer = ownTracer ?? InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }

    /// A read with a recorder, and the number of steps that this had before.
    private struct TracedRequest {
        let read: ReadRequest
        let recorder: ReadTraceRecorder
        let steps: Int

        /// The steps since.
        var newSteps: ArraySlice<ReadTrace.Step> { recorder.steps.dropFirst(steps) }
    }

    private func traced<Result>(
        _ tracer: any Tracer,
        _ request: ReadRequest,
        _ body: (any Span, TracedRequest) async throws -> Result
    ) async throws -> Result {
        let span = tracer.startSpan("cache get")
        defer { span.end() }
        let recorder = request.recorder ?? ReadTraceRecorder()
        recorder.scope = SpanScope(tracer: tracer, name: name, context: span.context)
        var read = request
        read.recorder = recorder
        let traced = TracedRequest(read: read, recorder: recorder, steps: recorder.steps.count)
        span.attributes["cache.name"] = name
        if case .refresh = request.purpose { span.attributes["cache.refresh"] = true }
        do {
            let result = try await ServiceContext.$current.withValue(span.context) { try await body(span, traced) }
            note(traced.newSteps, in: span, tracer)
            return result
        } catch {
            note(traced.newSteps, in: span, tracer)
            span.note(error)
            throw error
        }
    }

    private func note(_ steps: ArraySlice<ReadTrace.Step>, in span: any Span, _ tracer: any Tracer) {
        addEvents(steps, to: span)
        linkToLeaders(steps, span, tracer)
    }

    /// Links the span to those of the reads in other processes that it has waited for.
    ///
    /// What names them has come from Redis, where others may write, so they are no more than linked: no span here is a
    /// child of theirs.
    private func linkToLeaders(_ steps: ArraySlice<ReadTrace.Step>, _ span: any Span, _ tracer: any Tracer) {
        var linked: Set<TraceParent> = []
        for step in steps {
            guard let leader = step.leader, linked.count < Self.mostLeaders, linked.insert(leader).inserted,
                let context = TraceFields(leader).context(by: tracer)
            else { continue }
            span.addLink(SpanLink(context: context, attributes: [:]))
        }
    }

    private func addEvents(_ steps: ArraySlice<ReadTrace.Step>, to span: any Span) {
        guard span.isRecording else { return }
        for step in steps.prefix(Self.mostEvents) {
            var attributes: SpanAttributes = [:]
            attributes["cache.level"] = step.origin.description
            attributes["cache.step.duration"] = step.duration / .seconds(1)
            if let whom = step.whom { attributes["cache.waited.for"] = whom }
            if let reason = step.reason { attributes["cache.reason"] = reason.description }
            if let error = step.error { attributes["error.type"] = error }
            span.addEvent(SpanEvent(name: step.event.description, attributes: attributes))
        }
    }

    /// Links the span of a read that has joined another one to that one's.
    ///
    /// Where a level records no step of that, it shows in the entry.
    private func link(_ span: any Span, _ leader: ServiceContext?, _ request: TracedRequest, isJoined: Bool) {
        guard let leader, isJoined || request.newSteps.contains(where: { $0.event == .joined }) else { return }
        span.addLink(SpanLink(context: leader, attributes: [:]))
    }

    private func note(_ entry: Entry<Value>?, in span: any Span) {
        let now = (base.clock ?? .system).now
        let result: String =
            switch entry?.content {
            case nil: "miss"
            case .absent: "absent"
            case .value where entry?.isFresh(at: now) == false: "stale"
            case .value: entry?.origin == .source ? "fetched" : "hit"
            }
        span.attributes["cache.result"] = result
        if let origin = entry?.origin { span.attributes["cache.level"] = origin.description }
        if let age = entry?.age(at: now) { span.attributes["cache.age"] = age / .seconds(1) }
    }

    /// The most links of a batch, whose keys may be fetched by many reads.
    private static var mostLeaders: Int { 32 }
    /// The most events of a batch, whose keys may be many: OpenTelemetry keeps no more.
    private static var mostEvents: Int { 128 }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension Traced: ConfirmationRelay {}

extension Traced: Fetcher where Base: Fetcher {}

extension Traced: AtomicLevel where Base: AtomicLevel {}

extension Traced: SourcedLevel where Base: SourcedLevel {}

extension CacheLevel {
    /// This level with its reads as spans.
    ///
    /// - Parameters:
    ///   - name: The value of `cache.name` in the spans.
    ///   - tracer: Makes the spans; by default the process's own, which `InstrumentationSystem.bootstrap(_:)` has set.
    ///     Without one, reads only look for it and make no span.
    /// - Returns: The level with its spans.
    public func traced(as name: String, tracer: (any Tracer)? = nil) -> Traced<Self> { Traced(self, name, tracer) }
}
#endif
