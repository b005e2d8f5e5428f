/// Something that has happened in a cache.
///
/// ```swift
/// for await event in products.observe([.storeRefused, .linkLost, .circuitOpened]) {
///     logger.notice("\(event)")
/// }
/// ```
///
/// See ``CacheLevel/observe(_:buffering:)``.
public struct CacheEvent: Sendable, CustomStringConvertible {
    /// The kind of the event.
    public let kind: Kind
    /// Where.
    public let level: EntryOrigin
    /// The key, of the type that the level has; its name in Redis where nothing else is known of it.
    ///
    /// `nil` for an event that does not concern a single key.
    public let key: (any Hashable & Sendable)?
    /// Why there was no value, or none was stored or kept.
    public let reason: ReadTrace.Reason?
    /// How long it took.
    public let duration: Duration?
    /// The name of the error's type, or its code for an error of Strata; `nil` for an event that is no failure.
    public let error: String?
    /// More about the event: the calls that a breaker guards, what was invalidated, why a link is lost.
    public let detail: String?

    package init(
        _ kind: Kind,
        at level: EntryOrigin,
        key: (any Hashable & Sendable)? = nil,
        reason: ReadTrace.Reason? = nil,
        duration: Duration? = nil,
        error: String? = nil,
        detail: String? = nil
    ) {
        self.kind = kind
        self.level = level
        self.key = key
        self.reason = reason
        self.duration = duration
        self.error = error
        self.detail = detail
    }

    /// The event and its level in a line, without the key.
    public var description: String {
        var line = "\(level): \(kind)"
        if let reason { line += ": \(reason)" }
        if let detail { line += " (\(detail))" }
        if let error { line += ", failed with \(error)" }
        if let duration { line += " in \(duration.brief)" }
        return line
    }
}
