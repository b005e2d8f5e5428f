/// The bottom of a cache: it can be read and not written.
///
/// As a level it accepts everything: storing and removing succeed at once and do nothing. So a cache above a source can
/// be written like any other.
///
/// A read that must not ask the source (``ReadOptions/cached``) leaves fetchers out.
public protocol Fetcher<Key, Value>: CacheLevel {}

extension Fetcher {
    /// Succeeds, and stores nothing.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {}

    /// Succeeds, and removes nothing.
    public func remove(_ key: Key) async throws {}

    /// Succeeds, and removes nothing.
    public func removeAll() async throws {}
}

// A fetcher keeps nothing that could be changed.
extension AtomicLevel where Self: Fetcher {
    /// `nil`: a fetcher keeps no entries.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? { nil }

    /// Never called: a fetcher keeps no entries.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        throw CacheError.notUpdatable
    }

    /// `nil`: a fetcher keeps no entries.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? { nil }
}

/// A fetcher made of a closure.
public struct ClosureFetcher<Key: Hashable & Sendable, Value: Sendable>: Fetcher {
    private let fetch: @Sendable (Key) async throws -> Value?
    private let meter = FetchMeter()
    private let time = CacheClock.current

    /// A fetcher that asks a closure.
    ///
    /// - Parameter fetch: Returns the value of a key, or `nil` when there is none. Its errors reach the caller.
    public init(_ fetch: @escaping @Sendable (Key) async throws -> Value?) {
        self.fetch = fetch
    }

    /// What the closure returns, with no lifetime but that of the read.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        guard request.options.source != .never, request.awaited == nil else { return nil }
        let start = MonotonicInstant.now
        let begin = time.now(at: start)
        let value: Value?
        meter.begin(key)
        do {
            value = try await request.recorder.inScope { try await fetch(key) }
        } catch {
            // A closure may throw any error when it is cancelled.
            let error = Task.isCancelled ? CancellationError() : error
            meter.end(key, with: error, from: start, isFailure: !Task.isCancelled)
            request.recorder?.failed(error, at: .source, from: start)
            throw error
        }
        let end = MonotonicInstant.now
        meter.end(key, from: start, to: end)
        guard let value else { return nil }
        request.recorder?.step(.fetched, at: .source, from: start, to: end)
        let now = time.now(at: end)
        let tenant = (key as? any TenantScoped)?.tags(within: nil)
        let tags = tenant?.stored(request.options.tags) ?? request.options.tags
        var entry = Entry(.value(value), tags: tags, fetchDuration: begin.duration(to: now))
        entry.live(for: request.options.lifetime, by: nil, fingerprint: 0, from: now)
        if request.options.lifetime.isNone { entry.ticket = .void }
        return entry
    }

    /// The clock that was current when the fetcher was made.
    public var clock: CacheClock? { time }

    /// `fetcher`.
    public var label: LevelLabel {
        LevelLabel("fetcher", counters: meter.counters, durations: [meter.durations], hubs: [meter.events])
    }
}

extension ClosureFetcher: AtomicLevel {}
