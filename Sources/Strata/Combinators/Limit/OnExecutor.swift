/// A level whose work runs on an executor of the caller's choice: for levels that block, or that must not take threads
/// from others.
///
/// Reads, writes and memory pressure run there. A value in this process's memory is returned where the caller is,
/// because that neither blocks nor waits.
///
/// An executor is a preference of the task, and tasks that are started inside do not inherit it. So put this directly
/// around the level that blocks, with pools, time limits and races outside.
///
/// ```swift
/// let files = ClosureFetcher<String, [UInt8]> { path in try readBlocking(path) }.onExecutor(fileExecutor)
/// let cache = memory.compose(files.pooled().timeout(.seconds(2)))
/// ```
public struct OnExecutor<Base: CacheLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose work runs elsewhere.
    public let base: Base
    /// Where it runs.
    package let executor: any TaskExecutor

    init(_ base: Base, _ executor: any TaskExecutor) {
        self.base = base
        self.executor = executor
    }

    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await there { try await base.entry(for: key, request) }
    }

    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        try await there { try await base.entries(for: keys, request) }
    }

    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        try await there { try await base.store(entry, for: key) }
    }

    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await there { try await base.commit(entry, for: key) }
    }

    public func remove(_ key: Key) async throws {
        try await there { try await base.remove(key) }
    }

    public func removeAll() async throws {
        try await there { try await base.removeAll() }
    }

    public func invalidate(tags: [String]) async throws {
        try await there { try await base.invalidate(tags: tags) }
    }

    /// Runs in a task of its own: this returns before the level has given memory back.
    public func relieve(_ pressure: MemoryPressure) {
        Task(executorPreference: executor) { [base] in base.relieve(pressure) }
    }

    public var label: LevelLabel {
        LevelLabel("on executor, \(type(of: executor))", parts: [base.label])
    }

    /// Runs work on the executor from its first instruction on.
    ///
    /// The work is `@concurrent`: a preference holds only without an actor. Other work would begin on its caller's
    /// thread, and move to the executor at its first suspension only.
    private func there<Result: Sendable>(
        _ body: @concurrent @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withTaskExecutorPreference(executor) { try await body() }
    }
}

extension OnExecutor: Fetcher where Base: Fetcher {}

extension OnExecutor: AtomicLevel where Base: AtomicLevel {
    /// Reads the current entry on the executor.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? {
        try await there { try await base.current(key) }
    }

    /// Exchanges the entry on the executor.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        try await there { try await base.exchange(entry, for: key, if: mark) }
    }

    /// Changes the lifetime on the executor.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        try await there { try await base.changeLifetime(of: key, change) }
    }

    /// Settles the late write on the executor.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        try await there { try await base.settle(key, write) }
    }
}

extension OnExecutor: SourcedLevel where Base: SourcedLevel {}

extension OnExecutor: ConfirmationRelay {}

extension CacheLevel {
    /// This level with its work done on an executor.
    ///
    /// - Parameter executor: Where the level's work runs. It must be alive as long as the level is used.
    /// - Returns: The level on its executor.
    public func onExecutor(_ executor: any TaskExecutor) -> OnExecutor<Self> { OnExecutor(self, executor) }
}
