// A write is compared with the cache before it is made, and after. A different value in the cache is a later one of
// another instance: it is written in the place of this one. So the instance that writes last writes what the cache has.
extension WriteBehindQueue {
    /// Makes the writes of a batch.
    func make(_ batch: Pending.Batch) async {
        guard !batch.isLost else {
            return await giveUp(batch.writes, of: batch, Self.late)
        }
        let writes = await looked(at: batch)
        guard !writes.isEmpty else { return }
        do {
            try await ask(writes)
        } catch {
            // Only a drain that has reached its limit cancels the task; drivers throw errors of their own then.
            let error: any Error = Task.isCancelled ? Self.unfinished : error
            // The closure is the user's, and may ask the cache: not under its lock.
            let isLasting = !options.isTransient(error)
            let lost = change { $0.failed(writes, of: batch, error, isLasting: isLasting, at: clock.running) }
            return await giveUp(lost, of: batch, error)
        }
        change { $0.succeeded() }
        await each(writes) { [self] write in await settle(write, of: batch) }
    }

    /// Asks the source, within the time of the options.
    private func ask(_ writes: [Pending.Write]) async throws {
        let now = clock.running
        let end = state.withLock { state in writes.reduce(.distantFuture) { min($0, state.writes.end(of: $1)) } }
        let limit = min(options.timeout, now.duration(to: end))
        guard limit > .zero else { throw Self.late }
        let values = writes.map { (key: $0.key, value: $0.entry.value) }
        try await withThrowingTaskGroup { group in
            group.addTask { [write] in try await write(values) }
            group.addTask { [clock] in
                try await clock.rest(for: limit)
                throw CacheError(code: .timeout, message: "a write to the source did not end within \(limit)")
            }
            defer { group.cancelAll() }
            // Waits for the cancelled task: a second attempt must not run beside the first.
            try await group.next()
        }
    }

    /// A write was given up before the source was asked.
    private static var late: CacheError {
        CacheError(code: .timeout, message: "a write waited too long for the source")
    }

    /// A drain has ended a write.
    static var unfinished: CacheError {
        CacheError(code: .timeout, message: "a write to the source had not ended when the cache did")
    }

    // MARK: Before

    /// The writes to make; another instance's value takes the place of a write that it has overtaken.
    private func looked(at batch: Pending.Batch) async -> [Pending.Write] {
        guard base.gate != nil else { return batch.writes }
        return await withTaskGroup(of: Pending.Write?.self) { group in
            for write in batch.writes { group.addTask { [self] in await looked(at: write, of: batch) } }
            var writes: [Pending.Write] = []
            for await case let write? in group { writes.append(write) }
            return writes
        }
    }

    private func looked(at write: Pending.Write, of batch: Pending.Batch) async -> Pending.Write? {
        // A value that the cache has not taken has no place in its order. A cache that cannot be asked is no reason not
        // to write.
        guard let version = write.version,
            let standing = try? await base.settle(write.key, LateWrite(version, .looks)), standing == .overtaken
        else { return write }
        if change({ $0.yield(write, of: batch) }) { return nil }
        let later: Entry<Value>?
        do { later = try await late(write.key, besides: version) } catch {
            // Only a release that can read what has overtaken this one can write it, and has to.
            if (error as? CacheError)?.code == .codec {
                change { $0.end(write, of: batch, .written) }
                return nil
            }
            return write
        }
        guard let later else { return write }
        change { $0.adopted() }
        var write = write
        write.entry = later
        write.version = later.version
        return write
    }

    /// The late write that the cache has of a key, if it is not this one.
    ///
    /// - Throws: What the cache has thrown, ``CacheError/Code/codec`` for what this release cannot read.
    private func late(_ key: Key, besides version: EntryVersion) async throws -> Entry<Value>? {
        guard let entry = try await base.current(key)?.entry else { return nil }
        return entry.version.isLate && entry.version != version ? entry : nil
    }

    // MARK: After

    /// Ends reads that may have asked the source before the write, and looks whether the cache still has the written
    /// value.
    private func settle(_ write: Pending.Write, of batch: Pending.Batch) async {
        if base.gate == nil {
            // Only this process can have changed it, and no read has asked the source meanwhile. Where the cache has
            // it, a `set` may have followed, which a removal of the key would take away.
            if write.version == nil { await forget(write.key) }
        } else if let version = write.version {
            do {
                // The absence of a deleted value stays: it shows another instance that its own write came before.
                let standing = try await base.settle(write.key, LateWrite(version, .settles))
                if standing == nil { await forget(write.key) }
                if standing == .overtaken, let later = try? await late(write.key, besides: version) {
                    return change { $0.adopt(later, afterWriting: write, of: batch, at: clock.running) }
                }
            } catch {
                await forget(write.key)
            }
        } else {
            await forget(write.key)
        }
        change { $0.end(write, of: batch, .written) }
    }

    /// Gives up writes: the cache forgets what the source will not have.
    private func giveUp(_ writes: [Pending.Write], of batch: Pending.Batch, _ error: any Error) async {
        await each(writes) { [self] write in
            let cause = write.lastError ?? error
            await retract(write)
            change {
                $0.end(write, of: batch, .givenUp(cause))
            } beforeOthersAreTold: { wasUnderWay in
                if wasUnderWay { lose(write, cause) }
            }
        }
    }

    private func retract(_ write: Pending.Write) async {
        if base.gate != nil, let version = write.version,
            case .some(.some) = try? await base.settle(write.key, LateWrite(version, .forgets))
        {
            return
        }
        await forget(write.key)
    }

    /// Forgets a key; while a server is away, as soon as it is back.
    func forget(_ key: Key) async {
        do {
            _ = try await UncachedWrite.$value.withValue(nil) { try await base.remove(key, .deferred) }
        } catch {
            change { $0.untold() }
        }
    }

    /// Tells the cache of writes, also where the batch was cancelled: their outcome does not change.
    private func each(_ writes: [Pending.Write], _ body: @escaping @Sendable (Pending.Write) async -> Void) async {
        guard !writes.isEmpty else { return }
        await Task.detached {
            await withTaskGroup { group in
                for write in writes { group.addTask { await body(write) } }
            }
        }
        .value
    }
}
