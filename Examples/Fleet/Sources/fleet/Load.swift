import Foundation
import Histogram
import Strata
import StrataTesting
import Synchronization

/// Tasks that ask for documents in Zipf order and compare every answer with the file.
final class Load: Sendable {
    private let service: DocumentService
    private let expected: [String: DocumentSummary]
    private let paths: [String]
    private let seed: UInt64
    private let total = Mutex(InstanceReport())
    private let done = Atomic<Int>(0)

    var report: InstanceReport { total.withLock { $0 } }

    init(service: DocumentService, seed: UInt64) async throws {
        self.service = service
        self.seed = seed
        let files = FileManager.default.enumerator(atPath: service.source.folder)?.compactMap { $0 as? String } ?? []
        var expected: [String: DocumentSummary] = [:]
        for path in files {
            var isFolder: ObjCBool = false
            let file = service.source.folder + "/" + path
            guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            expected[path] = try await service.source.summary(of: path)
        }
        self.expected = expected
        paths = expected.keys.sorted()
    }

    /// Runs the load, at `rate` requests a second of all tasks together.
    func run(tasks: Int, requests: Int, rate: Int, progress: @escaping @Sendable (Int) -> Void) async throws {
        let start = ContinuousClock.now
        let distribution = ZipfDistribution(count: paths.count, exponent: 0.9)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask { [self] in
                    var generator = SeededGenerator(seed: seed &+ UInt64(task))
                    let due = { (request: Int) in
                        start + .seconds(Double((request - 1) * tasks + task) / Double(max(rate, 1)))
                    }
                    await work(requests, due, distribution, &generator, progress)
                }
            }
            try await group.waitForAll()
        }
        total.withLock { $0.fetches = service.fetches }
    }

    private func work(
        _ requests: Int,
        _ due: (Int) -> ContinuousClock.Instant,
        _ distribution: ZipfDistribution,
        _ generator: inout SeededGenerator,
        _ progress: @Sendable (Int) -> Void
    ) async {
        var report = InstanceReport()
        var latencies: [String: Histogram<UInt64>] = [:]
        for request in 1...requests {
            try? await Task.sleep(until: due(request), clock: .continuous)
            let path = paths[distribution.next(using: &generator)]
            do {
                let (value, trace) = try await service.documents.getWithTrace(path)
                let place = trace.origin?.description ?? "none"
                report.requests[place, default: 0] += 1
                if trace.hasWaited { report.waits += 1 }
                if value != expected[path] { report.wrong.append(path) }
                let nanoseconds = UInt64(max(0, trace.duration / .nanoseconds(1)))
                latencies[place, default: Histogram(numberOfSignificantValueDigits: .two)].record(nanoseconds)
            } catch {
                report.errors.append("\(error)")
            }
            if request % 250 == 0 { progress(done.add(250, ordering: .relaxed).newValue) }
        }
        add(report, latencies)
    }

    private func add(_ report: InstanceReport, _ latencies: [String: Histogram<UInt64>]) {
        total.withLock { total in
            total.requests.merge(report.requests, uniquingKeysWith: +)
            total.waits += report.waits
            total.errors += report.errors.prefix(3)
            total.wrong += report.wrong
            for (place, histogram) in latencies {
                for bucket in histogram.recordedValues() {
                    total.latencies[place, default: [:]][bucket.value, default: 0] += Int(bucket.count)
                }
            }
        }
    }
}
