/// A history file as a reader sees it: finished, still growing, or left behind by a killed process.
struct HistoryFile: Sendable {
    let path: String
    let run: VersionedRun
    /// The process that wrote it.
    let process: UInt64
    /// How many events found no room.
    let dropped: UInt64
    /// How many records were written and are not there any more: the file was cut.
    let lost: UInt64
    /// How many records there is room for in what there is to read.
    private let count: Int
    private let openBlocks: [UInt64: UInt64]

    private static let chunkRecords = 32_768

    /// Reads a file's header.
    init(_ path: String) throws(CheckerError) {
        let file = try SharedFile(opening: path, readOnly: true)
        let header = try Self.words(of: file, at: 0, count: HistoryHeader.wordCount)
        guard header.count == HistoryHeader.wordCount, header[HistoryHeader.magicWord] == HistoryHeader.magic,
            let keyCount = Int(exactly: header[HistoryHeader.keyCountWord])
        else {
            throw CheckerError(.malformedFile, "\(path) is not a history")
        }
        self.path = path
        do {
            self.run = try VersionedRun(
                keyCount: keyCount,
                seed: header[HistoryHeader.seedWord],
                initialVersion: header[HistoryHeader.initialVersionWord]
            )
        } catch {
            throw CheckerError(.malformedFile, "\(path) has an impossible header: \(error.message)")
        }
        self.process = header[HistoryHeader.processWord]
        self.dropped = header[HistoryHeader.droppedWord]
        let (claimed, overflow) = header[HistoryHeader.blocksWord]
            .multipliedReportingOverflow(by: RecordClaims.blockRecords)
        guard !overflow else { throw CheckerError(.malformedFile, "\(path) has an impossible header") }
        let present = max(0, try file.size() - SharedFile.pageSize) / HistoryRecord.byteCount
        self.count = min(present, Int(clamping: claimed))
        self.openBlocks = RecordClaims.openBlocks(header)
        self.lost = Self.lost(claimed: claimed, present: UInt64(present), openBlocks, dropped)
    }

    /// What was claimed and is not there, less what was not taken yet and what found no room in the first place.
    private static func lost(
        claimed: UInt64,
        present: UInt64,
        _ openBlocks: [UInt64: UInt64],
        _ dropped: UInt64
    ) -> UInt64 {
        var missing = claimed.subtractingSaturating(present)
        for (block, taken) in openBlocks {
            let first = block * RecordClaims.blockRecords
            let free = (first + RecordClaims.blockRecords).subtractingSaturating(max(first + taken, present))
            missing = missing.subtractingSaturating(free)
        }
        return missing.subtractingSaturating(dropped)
    }

    /// What became of the records that a pass went over.
    struct Damage {
        /// Records that were handed out and are empty: their writer died first.
        var torn: UInt64 = 0
        /// Records that make no sense.
        var unreadable: UInt64 = 0
    }

    /// Reads all events, a chunk at a time; those of one thread come nearly in the order in which they were recorded.
    func visit(_ body: (HistoryEvent) -> Void) throws(CheckerError) -> Damage {
        let file = try SharedFile(opening: path, readOnly: true)
        var damage = Damage()
        var next = 0
        while next < count {
            let asked = min(Self.chunkRecords, count - next)
            let offset = SharedFile.pageSize + next * HistoryRecord.byteCount
            let words = try Self.words(of: file, at: offset, count: asked * HistoryRecord.wordCount)
            let got = words.count / HistoryRecord.wordCount
            for record in 0..<got {
                let word = record * HistoryRecord.wordCount
                let head = words[word]
                guard head != 0 else {
                    if isTaken(next + record) { damage.torn += 1 }
                    continue
                }
                let read = HistoryRecord(
                    head: head,
                    start: words[word + 1],
                    end: words[word + 2],
                    version: words[word + 3]
                )
                if let event = read.event(keyCount: run.keyCount) {
                    body(event)
                } else {
                    damage.unreadable += 1
                }
            }
            guard got == asked else { break }
            next += got
        }
        return damage
    }

    /// Whether a record was handed out to a writer.
    private func isTaken(_ index: Int) -> Bool {
        let (block, place) = UInt64(index).quotientAndRemainder(dividingBy: RecordClaims.blockRecords)
        return openBlocks[block].map { place < $0 } ?? true
    }

    private static func words(
        of file: borrowing SharedFile,
        at offset: Int,
        count: Int
    ) throws(CheckerError) -> [UInt64] {
        var words = [UInt64](repeating: 0, count: count)
        var fault: CheckerError?
        var bytes = 0
        unsafe words.withUnsafeMutableBytes { buffer in
            do throws(CheckerError) {
                bytes = unsafe try file.read(at: offset, into: buffer)
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        words.removeLast(count - bytes / 8)
        return words
    }
}
