/// One cache for everything that a service declares by providers.
///
/// ```swift
/// let cache = ProviderCache(redis, keyspace: "shop", freshness: .resilient)  // memory over Redis
///
/// let page = try await cache.value(of: Repositories.found(by: "swift", page: 1)) {
///     try await service.repositories("swift", page: 1)
/// }
/// try await cache.evict(.key, of: Repositories.found(by: "swift", page: 1))  // all pages of the filter
/// ```
///
/// Each read brings its loader. It gets what a source that is bound to a cache gets: overlapping reads of a record load
/// it once, above Redis once in the fleet, with lifetimes, stale windows and back-off as the level below memory says.
///
/// Evictions by key and by provider are invalidations of a tag. They take one round trip whatever they void, reach
/// records that only Redis or the disk holds and the memory of every instance, and touch no other provider.
///
/// A hit in memory builds the record's key and looks it up; the value is decoded once each time it is read from below.
public struct ProviderCache: Sendable {
    /// Levels that take a source with each call, and compare before they store.
    public typealias Levels = SourcedLevel<ProviderRecord.Key, ProviderRecord>
        & AtomicLevel<ProviderRecord.Key, ProviderRecord>

    /// The levels, memory first.
    public let levels: any Levels
    /// How long records live that are set and whose provider does not say; by default what the policy of a level says.
    let lifetime: EntryLifetime
    let sweep: (@Sendable (_ report: (ProviderRecord.Key) -> Void) async throws -> Int)?

    /// A cache over a level of records, with memory above it.
    ///
    /// - Parameters:
    ///   - memory: How much memory may hold: by default 10 000 records. ``MemoryLimit/cost(_:)`` counts the bytes
    ///     of encoded values.
    ///   - level: What lies below memory, with a place for sources at its bottom: `fetchingPerCall()` of a Redis level,
    ///     or a disk level composed with ``Source/perCall(freshness:limit:failureBackOff:)``.
    public init(
        memory: MemoryLimit<ProviderRecord> = .entries(10_000),
        over level: some Levels
    ) {
        self.init(levels: MemoryLevel<ProviderRecord.Key, ProviderRecord>(limit: memory).compose(level))
    }

    /// A cache of given levels.
    ///
    /// - Parameter levels: All levels, with a place for sources at the bottom.
    public init(levels: some Levels) {
        self.levels = levels
        lifetime = .byPolicy
        sweep = nil
    }

    /// A cache of given levels, and a closure that removes expired records from a level that does not do so by itself.
    package init(
        levels: some Levels,
        lifetime: EntryLifetime,
        sweep: @escaping @Sendable (_ report: (ProviderRecord.Key) -> Void) async throws -> Int
    ) {
        self.levels = levels
        self.lifetime = lifetime
        self.sweep = sweep
    }

    // MARK: Reading

    /// The value of a record, from the loader where no level has one.
    ///
    /// A record whose bytes cannot be decoded is loaded anew.
    ///
    /// - Parameters:
    ///   - provider: Names the record.
    ///   - options: How the read differs from an ordinary one.
    ///   - load: Returns the value. Its error reaches all callers that wait for it, as it is.
    /// - Returns: The value.
    /// - Throws: The loader's error; ``CacheError/Code/miss`` when the options forbid to load;
    ///   ``CacheError/Code/timeout``; ``CacheError/Code/codec`` for a value that cannot be encoded;
    ///   `CancellationError`.
    public func value<Provider: CacheProvider>(
        of provider: Provider,
        _ options: ReadOptions = .ordinary,
        orLoad load: @escaping @Sendable () async throws -> Provider.Value
    ) async throws -> Provider.Value {
        try await valueWithTrace(of: provider, options, orLoad: load).value
    }

    /// The value of a record, from the loader where no level has one, with an account of where it was found.
    ///
    /// - Throws: As ``value(of:_:orLoad:)``.
    public func valueWithTrace<Provider: CacheProvider>(
        of provider: Provider,
        _ options: ReadOptions = .ordinary,
        orLoad load: @escaping @Sendable () async throws -> Provider.Value
    ) async throws -> (value: Provider.Value, trace: ReadTrace) {
        let reading = try await read(provider, options, load)
        guard let value = reading.value else { throw CacheError.missing }
        return (value, reading.trace)
    }

    /// The value of a record where some level has one; no source is asked.
    ///
    /// - Returns: The value; `nil` when no level has one.
    /// - Throws: ``CacheError/Code/timeout``; `CancellationError`; the error of a level when no level could answer.
    public func value<Provider: CacheProvider>(of provider: Provider) async throws -> Provider.Value? {
        try await read(provider, .cached, nil).value
    }

    /// The result of a read, and the record that the value was read from, if levels may have it.
    struct Reading<Value> {
        var value: Value?
        var trace: ReadTrace
        var record: ProviderRecord?
    }

    /// Reads a record.
    ///
    /// - Parameters:
    ///   - provider: Names the record.
    ///   - options: How the read differs from an ordinary one.
    ///   - insists: Whether the loader is asked even if another load has just succeeded or failed.
    ///   - load: Returns the value; `nil` for a read that asks no source.
    /// - Returns: The result.
    /// - Throws: As ``value(of:_:orLoad:)``.
    func read<Provider: CacheProvider>(
        _ provider: Provider,
        _ options: ReadOptions,
        insists: Bool = false,
        _ load: (@Sendable () async throws -> Provider.Value)?
    ) async throws -> Reading<Provider.Value> {
        let key = ProviderRecord.Key(provider)
        var request = ReadRequest(options: options)
        // A record of a newer release stays for that release, whatever makes this read load.
        request.callSource = load.map { load in
            source(of: provider, insists, stores: { $0?.schema ?? 0 <= provider.schema }, load)
        }
        let (record, trace) = try await levels.traced(key, request)
        do throws(ProviderRecord.Unreadable) {
            // No release writes an absence. One that comes from elsewhere does not keep the read from loading.
            if record == nil, load != nil, options.source != .never { throw .other }
            return Reading(value: try record?.value(for: provider), trace: trace, record: record)
        } catch {
            guard let load, options.source != .never else { return Reading(trace: trace) }
            let isKept = error == .other
            var again = options
            again.source = .always
            again.staleness = .never
            // A read that fetches a newer record for itself brings one that this release cannot read.
            if !isKept { again.waitsForOthers = false }
            request = ReadRequest(options: again)
            request.callSource = source(of: provider, insists, stores: { _ in isKept }, load)
            let (record, trace) = try await levels.traced(key, request)
            do throws(ProviderRecord.Unreadable) {
                return Reading(value: try record?.value(for: provider), trace: trace, record: record)
            } catch {
                return Reading(value: try await load(), trace: trace)
            }
        }
    }

    // MARK: Writing

    /// Sets the value of a record in all levels.
    ///
    /// - Throws: ``CacheError/Code/codec`` and ``CacheError/Code/invalidTags`` before anything is written; else the
    ///   error of the level that could not be written.
    public func set<Provider: CacheProvider>(_ value: Provider.Value, for provider: Provider) async throws {
        try await levels.set(
            ProviderRecord(value, of: provider),
            for: ProviderRecord.Key(provider),
            lifetime: lifetime(of: provider),
            tags: tags(of: provider)
        )
    }

    /// A loader as the source of a read.
    ///
    /// - Parameters:
    ///   - provider: Names the record.
    ///   - insists: Whether it is asked in any case.
    ///   - stores: Whether levels may keep its value in the place of an old record.
    ///   - load: Returns the value.
    /// - Returns: The source.
    private func source<Provider: CacheProvider>(
        of provider: Provider,
        _ insists: Bool,
        stores: @escaping @Sendable (_ old: ProviderRecord?) -> Bool,
        _ load: @escaping @Sendable () async throws -> Provider.Value
    ) -> CallSource<ProviderRecord> {
        CallSource(
            insists: insists,
            outcome: { context in
                let record = try ProviderRecord(try await load(), of: provider)
                guard stores(context.old) else { return .doNotStore(record) }
                return .value(record, lifetime: provider.lifetime, tags: tags(of: provider))
            }
        )
    }

    /// The tags of a record, with the one that keeps it from sweeps, where there are any.
    func tags(of provider: some CacheProvider) -> [String] {
        sweep == nil || provider.isExpirable ? provider.allTags : provider.allTags + [ProviderRecord.keptTag]
    }
}
