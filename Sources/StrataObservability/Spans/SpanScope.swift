#if Observability
internal import Strata
internal import Tracing

/// Surrounds the fetches of a read with a span, whose parent is the span of the read.
///
/// The source's own spans are children of it.
struct SpanScope: FetchScope {
    let tracer: any Tracer
    let name: String
    let context: ServiceContext

    /// The identity of the read's span, as the tracer would put it into the header of a request.
    ///
    /// `nil` for a tracer that does not follow W3C Trace Context. Baggage, which may hold anything, stays here.
    var traceParent: TraceParent? {
        var fields = TraceFields()
        tracer.inject(context, into: &fields, using: TraceFields.Access())
        return fields.traceParent
    }

    func run<Output: Sendable>(
        _ fetch: () async throws -> Output,
        failure: (Output) -> (any Error)?
    ) async throws -> Output {
        let span = tracer.startSpan("cache fetch", context: context)
        defer { span.end() }
        span.attributes["cache.name"] = name
        do {
            let output = try await ServiceContext.$current.withValue(span.context) { try await fetch() }
            if let error = failure(output) { span.note(error) }
            return output
        } catch {
            span.note(error)
            throw error
        }
    }
}

extension Span {
    /// Notes the kind of an error, and not its text, which may hold what a trace must not show.
    func note(_ error: any Error) {
        let name = CacheError.name(of: error)
        attributes["error.type"] = name
        // A caller that has left is no failure, whatever a source throws then.
        if !Task.isCancelled { setStatus(SpanStatus(code: .error, message: name)) }
    }
}
#endif
