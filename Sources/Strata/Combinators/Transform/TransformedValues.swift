/// A level that shows its values in another form: what it keeps is transformed on the way out, and back on the way in.
///
/// ```swift
/// let products = MemoryLevel<Int, [UInt8]>(limit: .cost(16 << 20) { $0.count })
///     .transformValues(.cbor, as: Product.self)
/// ```
///
/// A transformation that throws ends the get after the level was asked, or the set before it is. Lifetimes, tags and
/// versions of entries stay as they are, and an absence stays one.
public struct TransformedValues<Base: CacheLevel, Value: Sendable>: ProcessingLevel {
    public typealias Key = Base.Key

    /// The level that keeps the values in their inner form.
    public let base: Base
    @usableFromInline
    let transformer: KeyAwareTwoWayTransformer<Base.Key, Base.Value, Value>

    @inlinable
    init(_ base: Base, _ transformer: KeyAwareTwoWayTransformer<Base.Key, Base.Value, Value>) {
        self.base = base
        self.transformer = transformer
    }

    /// Transforms a value.
    package var process: Step<(Base.Key, Base.Value), Value> { transformer.forward }

    /// The entry of the level inside with its value transformed.
    ///
    /// - Throws: What the level inside or the transformer throws.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        var inside = request.withoutBasis
        // The source does not get an old value that cannot be transformed back.
        if let old = request.basis as? Entry<Value> { inside.basis = try? await inner(old, key) }
        if let source = request.callSource(of: Value.self, for: key) {
            inside.callSource = source.giving(transformer, for: key)
        }
        guard let entry = try await base.entry(for: key, inside) else { return nil }
        return try await entry.map { try await process((key, $0)) }
    }

    /// The entries of the level inside, asked for by one call, with their values transformed.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        var inside = request.withoutBasis
        if let bases = request.bases as? [Key: Entry<Value>] {
            var old: [(Key, Entry<Base.Value>)] = []
            for (key, entry) in bases { if let inner = try? await inner(entry, key) { old.append((key, inner)) } }
            inside.add(bases: old)
        }
        if let batch = request.callBatch(of: Key.self, Value.self) { inside.callSource = batch.giving(transformer) }
        return try await base.entries(for: keys, inside).mapped(keys, by: process, request)
    }

    /// The value in the level's memory, transformed, if that needs no suspension.
    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        transformer.forward.resident(of: base, key, at: now, &answers)
    }

    /// Stores the entry with its value transformed back.
    ///
    /// - Throws: What the transformer throws, and then the level is not asked; what the level throws.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        try await base.store(try await inner(entry, key), for: key)
    }

    /// Stores the entry with its value transformed back.
    ///
    /// - Throws: What the transformer throws, and then the level is not asked; what the level throws.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        try await base.commit(try await inner(entry, key), for: key)
    }

    /// Removes the key.
    ///
    /// A value that is set with a lifetime of zero arrives here, too; it reaches a level that writes a source
    /// transformed back.
    ///
    /// - Throws: What the transformer throws, and then the level is not asked; what the level throws.
    public func remove(_ key: Key) async throws {
        guard let written = UncachedWrite.value, let value = written as? Value else {
            return try await base.remove(key)
        }
        let inner = try await transformer.inverseTransform(value, for: key)
        try await UncachedWrite.$value.withValue(inner) { try await base.remove(key) }
    }

    func inner(_ entry: Entry<Value>, _ key: Key) async throws -> Entry<Base.Value> {
        try await entry.map { try await transformer.inverseTransform($0, for: key) }
    }

    public var label: LevelLabel {
        LevelLabel("values transformed, \(Base.Value.self) to \(Value.self)", parts: [base.label])
    }
}

extension TransformedValues: Fetcher where Base: Fetcher {}

extension TransformedValues: AtomicLevel where Base: AtomicLevel {
    /// The level's current entry, with its value transformed.
    ///
    /// - Throws: What the level inside or the transformer throws.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? {
        guard let found = try await base.current(key) else { return nil }
        return CurrentEntry(try await found.entry?.map { try await process((key, $0)) }, mark: found.mark)
    }

    /// Stores the entry with its value transformed back.
    ///
    /// - Throws: What the transformer throws, and then the level is not asked; what the level throws.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        var inside: Entry<Base.Value>?
        if let entry { inside = try await inner(entry, key) }
        return try await base.exchange(inside, for: key, if: mark)
    }

    /// Changes the lifetime at the level inside; no value is transformed.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        try await base.changeLifetime(of: key, change)
    }

    /// Settles the write at the level inside; no value is transformed.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        try await base.settle(key, write)
    }
}

extension TransformedValues: SourcedLevel where Base: SourcedLevel {}

extension CacheLevel {
    /// This level with its values in another form, which closures make.
    ///
    /// - Parameters:
    ///   - transform: From what is stored to what is used. It may be run again when it throws.
    ///   - inverse: The way back.
    /// - Returns: The level with its new values.
    @inlinable
    public func transformValues<Other: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> Other,
        inverse: @escaping @Sendable (Other) throws -> Value
    ) -> TransformedValues<Self, Other> {
        transformValues(TwoWayTransformer(transform, inverse: inverse))
    }

    /// This level with its values in another form.
    @inlinable
    public func transformValues<Other: Sendable>(
        _ transformer: TwoWayTransformer<Value, Other>
    ) -> TransformedValues<Self, Other> {
        TransformedValues(self, KeyAwareTwoWayTransformer(transformer))
    }

    /// This level with its values in another form that depends on their keys.
    @inlinable
    public func transformValues<Other: Sendable>(
        _ transformer: KeyAwareTwoWayTransformer<Key, Value, Other>
    ) -> TransformedValues<Self, Other> {
        TransformedValues(self, transformer)
    }
}

extension CallSource {
    /// This source for a level that keeps its values in another form.
    ///
    /// The source does not get an old value that cannot be transformed.
    fileprivate func giving<Key, Inner>(
        _ transformer: KeyAwareTwoWayTransformer<Key, Inner, Value>,
        for key: Key
    ) -> CallSource<Inner> {
        CallSource<Inner>(
            insists: insists,
            outcome: { [fetch] context in
                try await fetch(context.transformed(by: transformer, for: key))
                    .map { try await transformer.inverseTransform($0, for: key) }
            }
        )
    }
}

extension CallBatch {
    /// This source for a level that keeps its values in another form.
    ///
    /// A value that cannot be transformed back is a failure of its key.
    fileprivate func giving<Inner>(
        _ transformer: KeyAwareTwoWayTransformer<Key, Inner, Value>
    ) -> CallBatch<Key, Inner> {
        CallBatch<Key, Inner> { [fetch] contexts in
            let keys = Array(contexts.keys)
            let asked = try await keys.each(suspends: !transformer.forward.isImmediate) { key in
                await contexts[key]?.transformed(by: transformer, for: key)
            }
            let found = try await fetch(Dictionary(zip(keys, asked)) { first, _ in first }.compactMapValues { $0 })
            let outcomes = try await keys.each(suspends: !transformer.inverse.isImmediate) { key in
                do {
                    return try await found[key]?.map { try await transformer.inverseTransform($0, for: key) }
                } catch {
                    return .failure(error)
                }
            }
            return Dictionary(zip(keys, outcomes)) { first, _ in first }.compactMapValues { $0 }
        }
    }
}

extension FetchContext {
    /// The context for a source whose values have another form; without an old value that cannot be transformed.
    fileprivate func transformed<Key, Outer>(
        by transformer: KeyAwareTwoWayTransformer<Key, Value, Outer>,
        for key: Key
    ) async -> FetchContext<Outer> {
        var outer: Outer?
        if let old { outer = try? await transformer.transform(old, for: key) }
        return FetchContext<Outer>(old: outer, age: outer == nil ? nil : age, recorder: recorder)
    }
}
