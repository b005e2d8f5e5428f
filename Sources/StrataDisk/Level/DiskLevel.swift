#if Disk
internal import GRDB
public import Strata

/// A level in a file on disk, in a namespace of its own.
///
/// ```swift
/// let store = DiskStore(path: "/var/lib/shop/cache.sqlite")
/// let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
///     .compose(DiskLevel(store, namespace: "products", limit: 1 << 30))
/// ```
///
/// Entries leave when they expire, and, when the level needs room, in the order of their last use. Writes survive the
/// end of the process. Other processes may share the file; they are not told of changes.
///
/// | operation | transactions |
/// |---|---|
/// | get | 1 read; each thousand entries that were read also begin 1 write, for which no call waits |
/// | get of several keys | 1 read; likewise |
/// | set | 1 write |
/// | remove, clear | 1 read, and 1 write if there is something to remove |
///
/// Lifetimes are stored by the system's clock, the only one that outlives a restart. If the clock is set back, entries
/// that seem to come from the future are misses, except those that stay fresh without end; if it is set forward,
/// entries expire early.
///
/// Encoding and decoding run on the caller's task, everything else on threads of GRDB. A cancelled call returns at
/// once.
public struct DiskLevel<Key: KeyRepresentable, Value: Sendable>: CacheLevel {
    /// What becomes of bytes that the codec cannot decode.
    ///
    /// A cache with another type of values may have written them, so they are never deleted for that reason.
    public enum Undecodable: Sendable, Hashable {
        /// The key is a miss.
        case miss
        /// The get throws ``/Strata/CacheError/Code/codec``, and no answer of a source replaces the bytes.
        case fail
    }

    /// The file.
    public let store: DiskStore
    /// The part of the file that belongs to this level.
    public let namespace: String
    /// How much the level may hold, in bytes: for each entry its value, 128 bytes, its key and its tags twice, since an
    /// index holds them too, and 16 bytes more for each tag.
    public let limit: Int
    /// How long values without a lifetime of their own are good; `nil` for ever.
    public let freshness: FreshnessPolicy?
    let codec: Codec<Value>
    let undecodable: Undecodable
    let space: DiskSpace
    let counters = DiskCounters()
    let sweeps = DiskSweeps()
    /// Tells what reads find here.
    let events = EventHub()
    private let time: CacheClock
    var wall: WallClock

    /// A level in a namespace.
    ///
    /// - Parameters:
    ///   - store: The file.
    ///   - namespace: The part of it that belongs to this level.
    ///   - codec: How values become bytes.
    ///   - limit: How much the level may hold, in bytes; 100 MiB by default. Each of several levels in one namespace
    ///     keeps to its own limit.
    ///   - freshness: How long values without a lifetime of their own are good; `nil` for ever.
    ///   - undecodable: What becomes of bytes that the codec cannot decode.
    public init(
        _ store: DiskStore,
        namespace: String,
        codec: Codec<Value>,
        limit: Int = 100 << 20,
        freshness: FreshnessPolicy? = nil,
        undecodable: Undecodable = .miss
    ) {
        self.init(
            space: DiskSpace(store: store, name: DiskSpace.name(of: namespace), limit: limit, whenFull: .evict),
            namespace: namespace,
            codec: codec,
            freshness: freshness,
            undecodable: undecodable
        )
    }

    /// A level in a namespace, with values as CBOR.
    ///
    /// - Parameters:
    ///   - store: The file.
    ///   - namespace: The part of it that belongs to this level.
    ///   - limit: How much the level may hold, in bytes; 100 MiB by default.
    ///   - freshness: How long values without a lifetime of their own are good; `nil` for ever.
    public init(
        _ store: DiskStore,
        namespace: String,
        limit: Int = 100 << 20,
        freshness: FreshnessPolicy? = nil
    ) where Value: Codable {
        self.init(store, namespace: namespace, codec: .cbor, limit: limit, freshness: freshness)
    }

    init(
        space: DiskSpace,
        namespace: String? = nil,
        codec: Codec<Value>,
        freshness: FreshnessPolicy?,
        undecodable: Undecodable
    ) {
        time = .current
        wall = .beside(time)
        self.space = space
        self.codec = codec
        self.freshness = freshness
        self.undecodable = undecodable
        store = space.store
        self.namespace = namespace ?? space.name
        limit = space.limit
    }

    /// Where its entries come from.
    public var origin: EntryOrigin? { .disk }

    /// Always `true`: the file keeps values.
    public var isStorage: Bool { true }

    /// How the level has been used since it was made.
    public var statistics: DiskStatistics { counters.snapshot }

    // MARK: Reading

    /// The entry of a key; `nil` when there is no usable one.
    ///
    /// A row whose checksum does not match its bytes is deleted.
    ///
    /// - Throws: ``DiskError``; `CancellationError`; ``/Strata/CacheError/Code/codec`` if the level was made to fail
    ///   for bytes that it cannot decode.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.awaited != nil { return nil }
        guard !request.skipsReading(self) else {
            request.skipped(self)
            return nil
        }
        let start = MonotonicInstant.now
        let bytes = key.keyBytes
        let found = try await counting { try await space.find(bytes) }
        let entry = try await counting { try await open(found, bytes) }
        note(entry, found, key, request.recorder, request, since: start)
        return entry
    }

    /// Takes down what a look has found, and tells those that observe the level.
    private func note(
        _ entry: Entry<Value>?,
        _ found: DiskSpace.Found,
        _ key: Key,
        _ recorder: ReadTraceRecorder?,
        _ request: ReadRequest,
        since start: MonotonicInstant
    ) {
        guard entry == nil else {
            recorder?.step(.hit, at: .disk, from: start, to: .now)
            if !request.isJudgedAbove { events.tell(.hit) { CacheEvent($0, at: .disk, key: key) } }
            return
        }
        let reason = reason(forMissing: found)
        recorder?.step(.miss, at: .disk, from: start, to: .now, reason: reason)
        events.tell(.miss) { CacheEvent($0, at: .disk, key: key, reason: reason) }
    }

    private func reason(forMissing found: DiskSpace.Found) -> ReadTrace.Reason {
        switch found {
        case .nothing: .absent
        case .damaged: .damaged
        case .entry(let stored): isInTime(stored, wall.now()) ? .otherSchema : .expired
        }
    }

    /// The entries of several keys, as they are at one moment.
    ///
    /// - Throws: As ``entry(for:_:)``.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        guard !request.skipsReading(self) else { return request.skipped(self, for: keys) }
        let start = MonotonicInstant.now
        let bytes = keys.map(\.keyBytes)
        let found = try await counting { try await space.find(bytes) }
        var entries: [Entry<Value>?] = []
        entries.reserveCapacity(keys.count)
        for (index, one) in found.enumerated() {
            let entry = try await request.leavingOut(keys[index]) { try await open(one, bytes[index]) }
            note(entry, one, keys[index], request.recorder?.part(of: keys[index]), request, since: start)
            entries.append(entry)
        }
        if request.recorder?.isOfSeveral == false {
            let event: ReadTrace.Event = entries.contains { $0 == nil } ? .miss : .hit
            request.recorder?.step(event, at: .disk, from: start, to: .now)
        }
        return entries
    }

    func open(_ found: DiskSpace.Found, _ key: [UInt8]) async throws -> Entry<Value>? {
        switch found {
        case .nothing:
            counters.add(\.misses)
            return nil
        case .damaged(let id):
            counters.add(\.unusable)
            // A disk that cannot be written can still be read: what cannot be deleted stays a miss.
            do { try await space.remove(damaged: id, key) } catch let error as DiskError where error.code != .corrupt {}
            return nil
        case .entry(let stored):
            do throws(UnreadableValue) {
                let entry = try entry(of: stored, key)
                counters.add(entry == nil ? \.misses : \.hits)
                if entry != nil { space.touch(stored) }
                return entry
            } catch {
                counters.add(\.unusable)
                // That there is none loses nothing.
                guard undecodable == .fail, stored.kind == 0 else { return nil }
                throw CacheError(unreadable: error)
            }
        }
    }

    // MARK: Writing

    /// Stores an entry durably, and keeps the level within its limit.
    ///
    /// The level of a ``/Strata/ProviderCache`` does not keep an entry for which it has no room; that is no error.
    ///
    /// - Throws: ``/Strata/CacheError/Code/tooLarge`` for an entry that alone exceeds the limit, and the older one is
    ///   then removed; ``/Strata/CacheError/Code/codec``; ``DiskError``, and then the older entry is still there;
    ///   `CancellationError`.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        let bytes = key.keyBytes
        let now = wall.now()
        // What a source answers replaces nothing there that cannot be read.
        if entry.isFill, undecodable == .fail, try await counting({ try await hasUnreadable(bytes) }) { return }
        let stored = try seal(entry, bytes, now)
        let written = try await counting {
            try await space.store(stored, bytes, sparesNewer: entry.isFill, now: now.wall)
        }
        if space.whenFull == .sweep { noteFullness(written, of: stored.size(bytes)) }
    }

    private func hasUnreadable(_ key: [UInt8]) async throws -> Bool {
        let found = try await space.find(key)
        guard case .entry(let stored) = found, stored.kind == 0 else { return false }
        do { _ = try entry(of: stored, key) } catch { return true }
        return false
    }

    /// Removes a key; one that is not there is no error.
    ///
    /// - Throws: ``DiskError``; `CancellationError`.
    public func remove(_ key: Key) async throws {
        try await counting { try await space.remove(key.keyBytes) }
    }

    /// Removes all keys of the namespace, at once; nothing else in the file is touched.
    ///
    /// - Throws: ``DiskError``; `CancellationError`.
    public func removeAll() async throws {
        try await counting { try await space.removeAll() }
    }

    /// Removes all entries of the namespace that bear one of the tags; nothing else.
    ///
    /// - Throws: ``/Strata/CacheError/Code/invalidTags``; ``DiskError``; `CancellationError`.
    public func invalidate(tags: [String]) async throws {
        try TagLimits.checkLengths(tags)
        try await counting { try await space.removeAll(tagged: tags) }
    }

    /// Evicts until the namespace holds no more than this many bytes.
    ///
    /// - Parameter bytes: How much may stay.
    /// - Throws: ``DiskError``; `CancellationError`.
    public func trim(to bytes: Int) async throws {
        try await counting { try await space.trim(to: max(0, bytes), now: wall.now().wall) }
    }

    /// What the namespace holds: bytes as ``limit`` counts them, and entries, expired ones included.
    ///
    /// - Throws: ``DiskError``; `CancellationError`.
    public func usage() async throws -> (bytes: Int, entries: Int) {
        try await counting { try await space.usage() }
    }

    /// The clock that was current when the level was made.
    public var clock: CacheClock? { time }

    /// ``freshness``.
    public var policy: FreshnessPolicy? { freshness }

    /// `disk`, with namespace, file, limit, compression and protection.
    public var label: LevelLabel {
        let counted = statistics
        let size =
            switch space.whenFull {
            case .evict: "at most \(limit) bytes"
            case .sweep: "at most \(limit) bytes, swept at 95 %"
            case .refuse: "at most \(limit) bytes, evicts nothing"
            }
        let stages = [codec.compression, codec.protection].compactMap { $0?.description }
        return LevelLabel(
            (["disk", "namespace \(namespace) in \(store)", size] + stages).joined(separator: ", "),
            counters: [
                .init("hits", counted.hits),
                .init("misses", counted.misses),
                .init("unusable", counted.unusable),
                .init("failures", counted.failures),
                .init("unkept", counted.unkept),
                .init("swept", counted.swept),
            ],
            durations: [],
            hubs: [events]
        )
    }

    func counting<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as DiskError {
            counters.add(\.failures)
            throw error
        }
    }
}

extension EntryOrigin {
    /// A file on this machine's disk.
    public static let disk: EntryOrigin = "disk"
}

extension CacheError {
    /// What a level throws that gives nothing up which it cannot read.
    fileprivate init(unreadable: UnreadableValue) {
        switch unreadable {
        case .otherMaking:
            self.init(code: .codec, message: "stored bytes have another codec, compression or protection")
        case .otherSchema:
            self.init(code: .codec, message: "stored bytes have another schema number, which nothing migrates")
        case .undecodable(let cause):
            self.init(code: .codec, message: "stored bytes cannot be decoded", causes: [cause])
        }
    }
}
#endif
