#if Observability
import InMemoryTracing
import Strata
import Tracing

/// A tracer that keeps its spans, and hands their contexts on as W3C Trace Context has it.
///
/// Each has numbers of its own, as the tracers of two processes have.
struct TraceContextTracer: Tracer {
    let spans: InMemoryTracer

    /// - Parameter number: What the numbers of its traces and spans begin with.
    init(_ number: Int) {
        let last = Locked(0)
        @Sendable func next(_ length: Int) -> String {
            let digits = last.withLock { last in
                last += 1
                return String(last, radix: 16)
            }
            return String(number) + String(repeating: "0", count: length - digits.count - 1) + digits
        }
        spans = InMemoryTracer(idGenerator: .init(nextTraceID: { next(32) }, nextSpanID: { next(16) }))
    }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        spans.startSpan(
            operationName,
            context: context(),
            ofKind: kind,
            at: instant(),
            function: function,
            file: fileID,
            line: line
        )
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
        injector.inject("user=4711", forKey: "baggage", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-"), parts.count == 4
        else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: String(parts[1]),
            spanID: String(parts[2]),
            parentSpanID: nil
        )
    }
}
#endif
