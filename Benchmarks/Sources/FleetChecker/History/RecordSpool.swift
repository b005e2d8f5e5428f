import Synchronization

/// Room for records in a file that grows by mapped segments: appending is an atomic addition and four stores.
///
/// The memory is the file's own, so what has been appended is there for the reader even if the process is killed in
/// the next instant. Half way through a segment the next one is made ready, so that no caller waits for it.
///
/// Proof of `Sendable`: `file`, `header` and `segmentLimit` never change; `segments` points to atomics, each of which
/// goes from 0 to the address of a mapping once, under the lock `growth`, and back never; records are claimed through
/// `claims` and have one writer each, who reaches their words through atomics. Mappings and table are freed in
/// `deinit`, when no reference is left.
@safe
final class RecordSpool: @unchecked Sendable {
    static let segmentRecords = 32_768
    private static let segmentBytes = segmentRecords * HistoryRecord.byteCount

    /// Where a record lies; `nowhere` if there was no room.
    struct Place: Sendable {
        static let nowhere = Place(index: .max)
        let index: UInt64
    }

    private let file: SharedFile
    private let header: SharedWords
    private let claims: RecordClaims
    private let segmentLimit: Int
    private let segments: UnsafeMutablePointer<Atomic<UInt>>
    private let growth = Mutex(Growth())

    private struct Growth {
        var mapped = 0
        var failed = false
    }

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - path: Where; nothing may be there yet.
    ///   - segmentLimit: How many segments of 1 MiB it may grow to.
    ///   - run: The run, for the header.
    ///   - process: The process, for the header.
    /// - Throws: `fileUnavailable`.
    init(creating path: String, segmentLimit: Int, run: VersionedRun, process: UInt64) throws(CheckerError) {
        let file = try SharedFile(creating: path)
        try file.extend(from: 0, to: SharedFile.pageSize)
        let header = try SharedWords(count: HistoryHeader.wordCount, file: file)
        self.file = file
        self.header = header
        self.claims = RecordClaims(header)
        self.segmentLimit = segmentLimit
        unsafe self.segments = .allocate(capacity: segmentLimit)
        for segment in 0..<segmentLimit {
            unsafe (segments + segment).initialize(to: Atomic(0))
        }
        header.store(UInt64(run.keyCount), at: HistoryHeader.keyCountWord)
        header.store(run.seed, at: HistoryHeader.seedWord)
        header.store(run.initialVersion, at: HistoryHeader.initialVersionWord)
        header.store(process, at: HistoryHeader.processWord)
        header.store(HistoryHeader.magic, at: HistoryHeader.magicWord)
        guard grow(to: 0) else {
            throw CheckerError(.fileUnavailable, "there is no room for a history at \(path)")
        }
    }

    deinit {
        for segment in 0..<segmentLimit {
            if let base = unsafe base(of: segment) {
                unsafe SharedFile.unmap(base, bytes: Self.segmentBytes)
            }
            unsafe (segments + segment).deinitialize(count: 1)
        }
        unsafe segments.deallocate()
        // What was reserved and not used goes back to the disk; should that fail, it reads as nothing anyway.
        let blocks = header.load(HistoryHeader.blocksWord)
        let claimed = Int(clamping: blocks.multipliedReportingOverflow(by: RecordClaims.blockRecords).partialValue)
        let used = min(claimed, growth.withLock { $0.mapped } * Self.segmentRecords)
        try? file.truncate(to: SharedFile.pageSize + used * HistoryRecord.byteCount)
    }

    /// Events that found no room.
    var dropped: UInt64 { header.load(HistoryHeader.droppedWord) }

    /// Counts an event that cannot be recorded.
    func drop() {
        _ = header.add(1, at: HistoryHeader.droppedWord)
    }

    @discardableResult
    func append(_ record: HistoryRecord) -> Place {
        let index = claims.next()
        guard let words = unsafe words(of: index, mayGrow: true) else {
            drop()
            return .nowhere
        }
        unsafe words[1].store(record.start, ordering: .relaxed)
        unsafe words[2].store(record.end, ordering: .relaxed)
        unsafe words[3].store(record.version, ordering: .relaxed)
        unsafe words[0].store(record.head, ordering: .releasing)
        return Place(index: index)
    }

    /// Completes a record that was appended with end 0.
    ///
    /// The end is written last: until then the operation is under way.
    func complete(_ place: Place, _ outcome: HistoryEvent.Outcome, version: UInt64, end: UInt64) {
        guard let words = unsafe words(of: place.index, mayGrow: false) else { return }
        let head = unsafe words[0].load(ordering: .relaxed)
        unsafe words[3].store(version, ordering: .relaxed)
        unsafe words[0].store(HistoryRecord.head(head, withOutcome: outcome), ordering: .releasing)
        unsafe words[2].store(end, ordering: .releasing)
    }

    private func words(of index: UInt64, mayGrow: Bool) -> UnsafeMutablePointer<Atomic<UInt64>>? {
        let segment = Int(clamping: index / UInt64(Self.segmentRecords))
        let slot = Int(index % UInt64(Self.segmentRecords))
        guard segment < segmentLimit else { return nil }
        if mayGrow, slot == Self.segmentRecords / 2 { _ = grow(to: segment + 1) }
        if let base = unsafe base(of: segment) { return unsafe base + slot * HistoryRecord.wordCount }
        guard mayGrow, grow(to: segment), let base = unsafe base(of: segment) else { return nil }
        return unsafe base + slot * HistoryRecord.wordCount
    }

    private func base(of segment: Int) -> UnsafeMutablePointer<Atomic<UInt64>>? {
        unsafe UnsafeMutablePointer(bitPattern: segments[segment].load(ordering: .acquiring))
    }

    /// Maps all segments up to this one; false if there is no room for it.
    private func grow(to segment: Int) -> Bool {
        guard segment < segmentLimit else { return false }
        return growth.withLock { state in
            while state.mapped <= segment, !state.failed {
                let offset = SharedFile.pageSize + state.mapped * Self.segmentBytes
                do {
                    try file.extend(from: offset, to: offset + Self.segmentBytes)
                    let base = unsafe try file.map(offset: offset, bytes: Self.segmentBytes)
                    unsafe segments[state.mapped].store(UInt(bitPattern: base), ordering: .releasing)
                    state.mapped += 1
                } catch {
                    state.failed = true
                }
            }
            return state.mapped > segment
        }
    }
}
