/// The truth of a test fleet: the current version of every key, shared by all its processes without a server.
///
/// Versions live in a file that every process maps, one atomic 64-bit word a key, so all of them read and count up the
/// same monotone numbers. Put it at the bottom of the cache under test and judge what comes out on top with
/// ``StalenessChecker``:
///
/// ```swift
/// let run = try VersionedRun(keyCount: 1_000, seed: seed)
/// let source = try VersionedSource(creating: "\(folder)/source", run: run)   // once, before the fleet starts
/// let source = try VersionedSource(opening: "\(folder)/source")              // in every process
/// let cache = memory.compose(redis.fetching { key in try await source.fetch(key) })
/// ```
///
/// A version stays when the process that wrote it is killed. Nothing here blocks; every operation is O(1).
public final class VersionedSource: Sendable {
    /// Where in a fetch the hook is called.
    public enum FetchStep: Sendable, Hashable {
        /// Before the version is read: a delay here is a slow way to the source.
        case beforeRead
        /// After the version is read: a delay here makes the answer old before it arrives.
        case afterRead
    }

    /// Called in each fetch, to wait, fail or hang as a source may.
    public typealias FetchHook = @Sendable (_ key: Int, _ step: FetchStep) async throws -> Void

    // File: one page of header, then a word a key. The word holds the version above and the writer in the low 16 bits,
    // so that both are read at once; 48 bits of version last for centuries.
    private static let magic: UInt64 = 0x3130_4352_5352_5453
    private static let headerWords = SharedFile.pageSize / 8
    private static let writerBits: UInt64 = 16
    private static let maximumVersion: UInt64 = 1 << 48 - 1

    /// What the run's processes agree on.
    public let run: VersionedRun

    private let words: SharedWords
    private let hook: FetchHook?

    /// Makes a source that this process alone can see.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - hook: Called in each fetch.
    /// - Throws: ``CheckerError`` if there is no memory.
    public init(run: VersionedRun, hook: FetchHook? = nil) throws(CheckerError) {
        self.run = run
        self.hook = hook
        self.words = try SharedWords(zeroed: Self.headerWords + run.keyCount)
        begin()
    }

    /// Creates the file of a run.
    ///
    /// - Parameters:
    ///   - path: Where; nothing may be there yet. The file is the caller's to remove.
    ///   - run: The run.
    ///   - hook: Called in each fetch of this process.
    /// - Throws: ``CheckerError`` if the file cannot be created.
    public init(creating path: String, run: VersionedRun, hook: FetchHook? = nil) throws(CheckerError) {
        let count = Self.headerWords + run.keyCount
        let file = try SharedFile(creating: path)
        try file.extend(from: 0, to: count * 8)
        self.run = run
        self.hook = hook
        self.words = try SharedWords(count: count, file: file)
        begin()
    }

    /// Joins a run by the file that another process created.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - hook: Called in each fetch of this process.
    /// - Throws: ``CheckerError`` if the file cannot be opened, or is not (yet) a complete versioned source.
    public init(opening path: String, hook: FetchHook? = nil) throws(CheckerError) {
        let file = try SharedFile(opening: path, readOnly: false)
        let size = try file.size()
        guard size > SharedFile.pageSize else {
            throw CheckerError(.malformedFile, "\(path) is too short for a versioned source")
        }
        let words = try SharedWords(count: size / 8, file: file)
        guard words.load(0) == Self.magic, let keyCount = Int(exactly: words.load(1)),
            keyCount == words.count - Self.headerWords
        else {
            throw CheckerError(.malformedFile, "\(path) is not a versioned source")
        }
        self.run = try VersionedRun(keyCount: keyCount, seed: words.load(2), initialVersion: words.load(3))
        self.hook = hook
        self.words = words
    }

    private func begin() {
        for key in 0..<run.keyCount {
            words.store(run.initialVersion << Self.writerBits, at: Self.headerWords + key)
        }
        words.store(UInt64(run.keyCount), at: 1)
        words.store(run.seed, at: 2)
        words.store(run.initialVersion, at: 3)
        // The magic comes last: who opens the file meanwhile is told that it is no source yet.
        words.store(Self.magic, at: 0)
    }

    /// The current value of a key, without the hook; nil while its version is 0.
    ///
    /// - Parameter key: One of the run's keys.
    /// - Throws: ``CheckerError`` with `unknownKey`.
    /// - Returns: The value.
    public func value(of key: Int) throws(CheckerError) -> VersionedValue? {
        let word = words.load(try place(of: key))
        let version = word >> Self.writerBits
        guard version > 0 else { return nil }
        return VersionedValue(key: key, version: version, writer: UInt16(truncatingIfNeeded: word), run: run)
    }

    /// Answers as the source under a cache: the value current at one moment of the call, with the hook before and
    /// after.
    ///
    /// Cancellation is the hook's to notice; without a hook the call never suspends.
    ///
    /// - Parameter key: One of the run's keys.
    /// - Throws: What the hook throws, and ``CheckerError`` with `unknownKey`.
    /// - Returns: The value; nil while the key's version is 0.
    public func fetch(_ key: Int) async throws -> VersionedValue? {
        try await hook?(key, .beforeRead)
        let value = try value(of: key)
        try await hook?(key, .afterRead)
        return value
    }

    /// Writes the key: its version grows by one.
    ///
    /// Invalidate it in the cache afterwards.
    ///
    /// - Parameters:
    ///   - key: One of the run's keys.
    ///   - writer: The instance that writes.
    /// - Throws: ``CheckerError`` with `unknownKey`, or with `versionsExhausted` after 2^48 versions.
    /// - Returns: The version written.
    @discardableResult
    public func write(_ key: Int, by writer: UInt16) throws(CheckerError) -> UInt64 {
        let place = try place(of: key)
        var current = words.load(place)
        while true {
            let version = current >> Self.writerBits + 1
            guard version <= Self.maximumVersion else {
                throw CheckerError(.versionsExhausted, "a key cannot have more than \(Self.maximumVersion) versions")
            }
            let (exchanged, original) = words.exchange(
                current,
                for: version << Self.writerBits | UInt64(writer),
                at: place
            )
            if exchanged { return version }
            current = original
        }
    }

    private func place(of key: Int) throws(CheckerError) -> Int {
        guard key >= 0, key < run.keyCount else {
            throw CheckerError(.unknownKey, "keys are 0 ..< \(run.keyCount)")
        }
        return Self.headerWords + key
    }
}
