extension Composed where Upper == MemoryLevel<Lower.Key, Lower.Value>, Lower.Key: KeyRepresentable {
    /// Writes what memory holds to a file, the hottest entries first, for the next process to restore.
    ///
    /// ```swift
    /// try await products.hibernate(to: "/var/lib/shop/products.warm")  // when no more requests come
    /// ```
    ///
    /// The counterpart is ``restore(from:codec:unconfirmedUpTo:within:reading:)``. With each value go its key, its
    /// remaining lifetime, its tags, and the stamp of the write that it comes from. The file takes its name when it is
    /// whole, in the place of an earlier one; only this user may read it. Any number of processes may write the same
    /// name: the last one counts. Redis is not asked, and may be away.
    ///
    /// Encoding runs on the caller's task, writing on a thread of its own. Memory stays as it is, and may be read and
    /// written meanwhile. Later changes by this process are not in the file: above Redis that shows when the file is
    /// read back, above a source it does not.
    ///
    /// - Parameters:
    ///   - path: The file. Its folder is made if it is missing. While the file is written, another one with a longer
    ///     name lies beside it.
    ///   - codec: How values become bytes; by default as the Redis level below writes them, encrypted and compressed if
    ///     it does that. Needed where no level below memory is shared.
    ///   - limits: How much is written, and for how long.
    /// - Returns: What was written, and what was left out.
    /// - Throws: ``HibernationError``, and then an earlier file stays as it was; `CancellationError`.
    /// - Complexity: O(entries) and one encoding each. To find the hottest, writers of memory wait for one walk along
    ///   its list: some 10 ms for a million entries.
    @discardableResult
    public func hibernate(
        to path: String,
        codec: Codec<Value>? = nil,
        limits: HibernationLimits = HibernationLimits()
    ) async throws -> HibernationReport {
        try await hibernate(to: path, codec: codec, limits: limits, wallTime: WallTime.now)
    }

    /// The same with a clock of the caller's choice, for tests.
    package func hibernate(
        to path: String,
        codec: Codec<Value>?,
        limits: HibernationLimits,
        wallTime: Int64
    ) async throws -> HibernationReport {
        let form = try HibernationForm(below: lower, codec: codec)
        let begun = time.now
        let slots = upper.hottestSlots(max(limits.entries ?? .max, 0))
        let header = HibernationHeader(form.codec, name: form.name, planned: slots.count, writtenAt: wallTime)
        let writer = try await Self.onThread { try HibernationWriter(path, header) }
        do {
            var written = HibernationChunk(begun: begun, limits, identity: header.identity)
            written.report.left = max(upper.statistics.entries - slots.count, 0)
            var rest = slots[...]
            while !rest.isEmpty, !written.isFull {
                try Task.checkCancellation()
                for (key, glimpse) in upper.glimpses(in: rest.prefix(64)) { add(key, glimpse, form, to: &written) }
                rest = rest.dropFirst(64)
                if let bytes = written.take(over: rest.isEmpty || written.isFull ? 0 : 1 << 20) {
                    try await Self.onThread { try writer.write(bytes) }
                }
            }
            // The limit may have passed since the last look.
            if let bytes = written.take(over: 0) { try await Self.onThread { try writer.write(bytes) } }
            written.report.left += rest.count
            let count = written.report.written
            try await Self.onThread { try writer.finish(count: count) }
            return written.report
        } catch {
            try? await Self.onThread { writer.discard() }
            throw error
        }
    }

    /// Adds an entry, unless it is of no use to a later process.
    private func add(
        _ key: Key,
        _ glimpse: MemoryGlimpse<Value>,
        _ form: HibernationForm<Key, Value>,
        to chunk: inout HibernationChunk
    ) {
        guard !chunk.isFull else { return chunk.count(\.left) }
        let entry = glimpse.entry
        guard fillGate.isLive(entry.ticket), entry.seal?.isLive != false, entry.isUsable(at: time.now) else {
            return chunk.count(\.void)
        }
        guard form.confirming == nil || entry.version != .none else { return chunk.count(\.unconfirmable) }
        do {
            let (codec, place) = (form.codec, form.place(key))
            let sealed = try entry.value.map { try codec.seal($0, at: place) } ?? codec.sealAbsence(at: place)
            chunk.add(HibernationRecord(key.keyBytes, glimpse, payload: sealed.bytes, at: chunk.begun))
        } catch {
            chunk.count(\.unwritable)
        }
    }

    /// The result of `body` on a thread of its own.
    static func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        do {
            return try await Blocking.run(name: "strata-warm", body)
        } catch is Blocking.NoThread {
            throw HibernationError(.cannotOpen, "the system cannot make a thread")
        }
    }
}

/// Records to write, and what was counted.
private struct HibernationChunk {
    /// By the levels' clock.
    let begun: MonotonicInstant
    /// By the system's clock: the end of a process waits for this.
    private let end: MonotonicInstant
    private let limit: Int
    private let identity: UInt64
    private var bytes: [UInt8] = []
    private var isOverLimit = false
    var report = HibernationReport()

    init(begun: MonotonicInstant, _ limits: HibernationLimits, identity: UInt64) {
        self.begun = begun
        end = MonotonicInstant.now.advanced(by: limits.duration)
        limit = limits.bytes
        self.identity = identity
        report.bytes = HibernationHeader.size + HibernationRecord.endSize
    }

    /// Whether a limit is reached.
    var isFull: Bool { isOverLimit || .now >= end }

    mutating func count(_ outcome: WritableKeyPath<HibernationReport, Int>) { report[keyPath: outcome] += 1 }

    mutating func add(_ record: HibernationRecord) {
        guard let framed = record.framed(identity) else { return count(\.unwritable) }
        guard report.bytes + framed.count <= limit else {
            isOverLimit = true
            return count(\.left)
        }
        bytes += framed
        report.bytes += framed.count
        report.written += 1
    }

    /// The gathered records, if they are more than so many bytes.
    mutating func take(over size: Int) -> [UInt8]? {
        guard bytes.count > size else { return nil }
        defer { bytes.removeAll() }
        return bytes
    }
}
