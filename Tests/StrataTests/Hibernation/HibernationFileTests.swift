import Foundation
import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

@Suite("Files of hibernated entries: cut, flipped, fought over", .timeLimit(.minutes(5)))
struct HibernationFileTests {
    private let folder: ScratchFolder
    private var random: SplitMix64

    init() throws {
        folder = try ScratchFolder()
        let seed = ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
        print("HibernationFileTests: STRATA_SEED=\(seed)")
        random = SplitMix64(seed: seed)
    }

    private func written(_ count: Int) async throws -> [UInt8] {
        let one = PlainProcess()
        _ = try await one.cache.get((0..<count).map { "k\($0)" })
        #expect(try await one.hibernate(to: folder).written == count)
        return try folder.bytes()
    }

    /// Reads a file back, and tells whether all that is served is what was written.
    private func restored(_ bytes: [UInt8]) async throws -> Result<RestorationReport, any Error> {
        try folder.write(bytes)
        let process = PlainProcess()
        let result = await Result { try await process.restore(from: folder) }
        for key in process.cache.upper.hottest(100) { #expect(process.remembers(key) == "value of \(key)") }
        return result
    }

    @Test("cut at any byte, what lies before the cut is read back, and nothing else")
    func cut() async throws {
        let bytes = try await written(12)
        var last = 0
        for length in 0..<bytes.count {
            let result = try await restored(Array(bytes.prefix(length)))
            guard length >= HibernationHeader.size else {
                let code = self.code(of: result)
                #expect(code == (length > 4 ? .damaged : .foreign), "\(length)")
                continue
            }
            let report = try result.get()
            #expect(!report.isWhole && report.restored >= last && report.restored <= 12, "\(length)")
            #expect(report.unreadable <= 1)
            last = report.restored
        }
        let whole = try await restored(bytes).get()
        #expect(last == 12 && whole.restored == 12 && whole.isWhole)
    }

    @Test("a bit that has flipped costs the record that has it, or what follows; never a wrong value")
    mutating func flipped() async throws {
        let bytes = try await written(12)
        for _ in 0..<400 {
            var flipped = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                flipped[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            guard flipped != bytes else { continue }
            switch try await restored(flipped) {
            case .success(let report):
                #expect(report.restored < 12 || !report.isWhole)
                #expect(report.unreadable > 0 || !report.isWhole)
            case .failure(let error):
                let code = (error as? HibernationError)?.code
                #expect([.foreign, .newerFormat, .damaged].contains(code), "\(error)")
            }
        }
    }

    @Test("arbitrary bytes behind a sound beginning end nothing, and take no memory for what they claim")
    mutating func arbitrary() async throws {
        let bytes = try await written(2)
        let head = Array(bytes.prefix(HibernationHeader.size))
        for _ in 0..<200 {
            var rest = (0..<Int.random(in: 0..<300, using: &random))
                .map { _ in UInt8.random(in: 0...255, using: &random) }
            if rest.count > 4, Bool.random(using: &random) { rest[2...3] = [0, 0] }
            let report = try await restored(head + rest).get()
            #expect(report.restored == 0 && !report.isWhole)
        }
        let huge = head + [0xff, 0xff, 0xff, 0x7f] + [UInt8](repeating: 7, count: 100)
        #expect(try await restored(huge).get().unreadable == 1)
    }

    @Test("zeros are no records; sound ones behind as many damaged bytes as a portion has are read")
    func stretches() async throws {
        let whole = try await written(3)
        let (head, rest) = (Array(whole.prefix(HibernationHeader.size)), whole.dropFirst(HibernationHeader.size))
        let zeros = try await restored(head + [UInt8](repeating: 0, count: 1 << 20)).get()
        #expect(zeros.unreadable == 1 && zeros.restored == 0)
        let length = HibernationRecord.longest
        let damaged =
            withUnsafeBytes(of: UInt32(length).littleEndian) { Array($0) } + [UInt8](repeating: 7, count: 8 + length)
        let report = try await restored(head + damaged + rest).get()
        #expect(report.unreadable == 1 && report.restored == 3)
    }

    @Test("records of another file are damaged here, also whole ones, and a later format is not read")
    func spliced() async throws {
        let (one, other) = (try await written(3), try await written(3))
        let mixed = Array(one.prefix(HibernationHeader.size)) + other.dropFirst(HibernationHeader.size)
        let report = try await restored(mixed).get()
        #expect(report.restored == 0 && report.unreadable == 3 && !report.isWhole)
        var later = one
        later[4] = 2
        #expect(code(of: try await restored(later)) == .newerFormat)
        // The end counts: a record that was taken out in whole shows.
        let length = 12 + Int(one.littleEndian(at: HibernationHeader.size, as: UInt32.self))
        var shorter = one
        shorter.removeSubrange(HibernationHeader.size..<HibernationHeader.size + length)
        let rest = try await restored(shorter).get()
        #expect(rest.restored == 2 && !rest.isWhole)
    }

    @Test("records say what they said, at the bounds of their fields")
    func records() throws {
        var record = HibernationRecord(
            isAbsence: false,
            frequency: 15,
            version: EntryVersion(high: .max, low: 1),
            freshFor: .min,
            revalidateFor: 0,
            staleFor: .max,
            age: 7,
            fetchDuration: .max,
            key: [],
            tags: ["", "ä", String(repeating: "t", count: 65_535)],
            payload: [1, 2, 3]
        )
        func readAgain() -> HibernationRecord? {
            guard let framed = record.framed(9) else { return nil }
            #expect(framed.littleEndian(at: 0, as: UInt32.self) == UInt32(framed.count - 12))
            return HibernationRecord(Array(framed[12...]), checksum: framed.littleEndian(at: 4, as: UInt64.self), 9)
        }
        #expect(readAgain() == record)
        record.tags = []
        record.isAbsence = true
        record.payload = []
        #expect(readAgain() == record)
        record.tags = [String(repeating: "t", count: 65_536)]
        #expect(record.framed(9) == nil)
        record.tags = []
        record.payload = [UInt8](repeating: 0, count: HibernationRecord.longest)
        #expect(record.framed(9) == nil)
    }

    @Test("of processes that write the same file each time one wins, and the file is always whole")
    func manyWriters() async throws {
        let processes = (0..<4).map { _ in PlainProcess() }
        for (number, process) in processes.enumerated() {
            for key in 0..<(10 + number) { _ = try await process.cache.get("k\(key)") }
        }
        let folder = folder
        try await withThrowingTaskGroup(of: Void.self) { group in
            for process in processes {
                group.addTask { for _ in 0..<10 { _ = try await process.hibernate(to: folder) } }
            }
            for _ in 0..<20 {
                guard let reader = try? HibernationReader(folder.file) else { continue }
                var count = 0
                while case let records = try reader.next(5), !records.isEmpty { count += records.count }
                #expect(reader.isWhole && reader.damaged == 0 && (10..<14).contains(count))
            }
            try await group.waitForAll()
        }
        #expect(folder.names == ["cache.warm"])
    }

    @Test("what a process has left behind that was killed while it wrote is removed, and what one writes is not")
    func forgotten() async throws {
        let bytes = try await written(3)
        let forgotten = folder.file + HibernationWriter.marker + "dead"
        try folder.write(Array(bytes.prefix(99)), to: forgotten)
        try folder.write([1], to: folder.path + "/cache.warmer")
        guard let busy = try HibernationFile(making: folder.file + HibernationWriter.marker + "busy") else {
            Issue.record("the file was removed before it was locked")
            return
        }
        _ = try await written(2)
        #expect(folder.names == ["cache.warm", "cache.warm.writing-busy", "cache.warmer"])
        #expect(busy.size == 0)
    }

    @Test("a disk that is full, or a folder that is in the way, leaves the earlier file")
    func failing() async throws {
        let bytes = try await written(3)
        let one = PlainProcess()
        _ = try await one.cache.get("a")
        // A folder cannot be replaced by a file.
        try FileManager.default.createDirectory(atPath: folder.path + "/taken", withIntermediateDirectories: true)
        let path = folder.path + "/taken"
        let code = await hibernationCode { try await one.cache.hibernate(to: path, codec: .text) }
        #expect(code == .cannotWrite)
        #expect(try folder.bytes() == bytes && folder.names == ["cache.warm", "taken"])
        #expect(await hibernationCode { try await one.cache.hibernate(to: "/dev/full/x", codec: .text) } == .cannotOpen)
    }

    private func code(of result: Result<RestorationReport, any Error>) -> HibernationError.Code? {
        if case .failure(let error) = result { (error as? HibernationError)?.code } else { nil }
    }
}
