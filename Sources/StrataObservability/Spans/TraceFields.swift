#if Observability
internal import Strata
internal import Tracing

/// The field of a trace's context that processes hand to each other, in the place of a request's headers.
struct TraceFields: Sendable {
    private static let name = "traceparent"

    /// Whatever a tracer has put there, or is to find.
    private var text: String?

    init() {}

    init(_ traceParent: TraceParent) {
        text = traceParent.text
    }

    /// The field; `nil` for none, and for text that is none.
    var traceParent: TraceParent? { text.flatMap { TraceParent($0.utf8) } }

    /// The context of the span that the field names; `nil` when the tracer cannot read it.
    func context(by tracer: any Tracer) -> ServiceContext? {
        var context = ServiceContext.topLevel
        tracer.extract(self, into: &context, using: Access())
        return context.isEmpty ? nil : context
    }

    /// How tracers reach the field.
    struct Access: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into fields: inout TraceFields) {
            if key.lowercased() == TraceFields.name { fields.text = value }
        }

        func extract(key: String, from fields: TraceFields) -> String? {
            key.lowercased() == TraceFields.name ? fields.text : nil
        }
    }
}
#endif
