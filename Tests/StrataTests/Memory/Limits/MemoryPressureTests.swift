import Foundation
import Strata
import StrataTesting
import Testing

@Suite("Memory pressure")
struct MemoryPressureTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID().uuidString)")

    private func write(_ text: String, to name: String = "memory.events") throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: folder.appendingPathComponent(name), options: .atomic)
    }

    private func events(high: Int = 0, max: Int = 0, oom: Int = 0) throws {
        try write("low 0\nhigh \(high)\nmax \(max)\noom \(oom)\noom_kill 0\noom_group_kill 0\n")
    }

    /// A monitor that looks once an hour, and so not by itself while a test runs.
    private func monitor(every period: Duration = .seconds(3600)) -> MemoryPressureMonitor {
        MemoryPressureMonitor(MemoryPressureSource(folder: folder.path), every: period)
    }

    private func hours(_ count: Int) -> Duration { .seconds(3600 * count) }

    /// So many thousandths of an hour in microseconds, as the kernel counts stalls.
    private func total(_ thousandths: Int) -> Int { 3_600_000 * thousandths }

    @Test("A175 a level that subscribed is told once of each pressure, and not cleared")
    func subscribed() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try events(high: 5)
        let (monitor, probe) = (monitor(), ProbeLevel(["k": 1]))
        let subscription = monitor.subscribe(probe)
        monitor.look()
        #expect(probe.calls == [])
        try events(high: 6)
        monitor.look()
        #expect(probe.calls == [.relieve(.moderate)])
        monitor.look()
        #expect(probe.calls == [.relieve(.moderate)])
        try events(high: 6, max: 9, oom: 1)
        monitor.look()
        #expect(probe.calls == [.relieve(.moderate), .relieve(.critical)])
        subscription.cancel()
    }

    @Test("files that could not be read once have not grown from zero since")
    func unreadable() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let stalls = "some avg10=0 total=\(total(9_000))\nfull avg10=0 total=\(total(5_000))\n"
        func writeAll() throws {
            try events(high: 50, oom: 3)
            try write(stalls, to: "memory.pressure")
        }
        try writeAll()
        let (monitor, probe) = (monitor(), ProbeLevel())
        let subscription = monitor.subscribe(probe)
        try FileManager.default.removeItem(at: folder)
        monitor.look()
        try writeAll()
        monitor.look()
        #expect(probe.calls == [])
        // So it is where the first reading fails.
        subscription.cancel()
        try FileManager.default.removeItem(at: folder)
        let again = monitor.subscribe(probe)
        try writeAll()
        monitor.look()
        #expect(probe.calls == [])
        try events(high: 50, oom: 4)
        monitor.look()
        #expect(probe.calls == [.relieve(.critical)])
        again.cancel()
    }

    @Test("stalls count as a share of the time that has passed, however late the look is")
    func late() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let start = MonotonicInstant.now
        try write("full avg10=0 total=0\n", to: "memory.pressure")
        let (monitor, probe) = (monitor(), ProbeLevel())
        let subscription = monitor.subscribe(probe)
        monitor.look(at: start.advanced(by: hours(1)))
        try write("full avg10=0 total=\(total(120))\n", to: "memory.pressure")
        monitor.look(at: start.advanced(by: hours(6)))
        #expect(probe.calls == [])
        try write("full avg10=0 total=\(total(240))\n", to: "memory.pressure")
        monitor.look(at: start.advanced(by: hours(7)))
        #expect(probe.calls == [.relieve(.critical)])
        subscription.cancel()
    }

    @Test("stalls that could not be read for long are those of all that time")
    func blind() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let start = MonotonicInstant.now
        try write("full avg10=0 total=0\n", to: "memory.pressure")
        let (monitor, probe) = (monitor(), ProbeLevel())
        let subscription = monitor.subscribe(probe)
        monitor.look(at: start.advanced(by: hours(1)))
        try FileManager.default.removeItem(at: folder)
        for hour in 2..<60 { monitor.look(at: start.advanced(by: hours(hour))) }
        try write("full avg10=0 total=\(total(150))\n", to: "memory.pressure")
        monitor.look(at: start.advanced(by: hours(60)))
        #expect(probe.calls == [])
        subscription.cancel()
    }

    @Test("A176 who has unsubscribed, or never did, is not told")
    func unsubscribed() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try events()
        let monitor = monitor()
        let (kept, cancelled, never) = (ProbeLevel(), ProbeLevel(), ProbeLevel())
        let subscription = monitor.subscribe(kept)
        monitor.subscribe(cancelled).cancel()
        try events(max: 1)
        #expect(monitor.look())
        #expect(kept.calls == [.relieve(.moderate)])
        #expect(cancelled.calls == [] && never.calls == [])
        subscription.cancel()
        try events(max: 2)
        #expect(!monitor.look())
        #expect(kept.calls == [.relieve(.moderate)])
    }

    @Test("a subscription that was not kept goes on; pressure that was found out elsewhere is passed on")
    func reported() {
        let (monitor, probe) = (monitor(), ProbeLevel())
        monitor.subscribe(probe)
        monitor.report(.critical)
        #expect(probe.calls == [.relieve(.critical)])
    }

    @Test("what a subscription has held may cancel another one when it is released", .timeLimit(.minutes(5)))
    func released() async throws {
        let monitor = monitor()
        let other = monitor.subscribe { _ in }
        let freed = AsyncStream.makeStream(of: Void.self)
        func listener() -> @Sendable (MemoryPressure) -> Void {
            let farewell = Farewell {
                other.cancel()
                freed.continuation.yield()
            }
            return { _ in withExtendedLifetime(farewell) {} }
        }
        let subscription = monitor.subscribe(listener())
        // In a task of its own: one that waits for a lock of its own does not end.
        Task.detached { subscription.cancel() }
        var farewells = freed.stream.makeAsyncIterator()
        try #require(await farewells.next() != nil)
        #expect(!monitor.look())
    }

    @Test("A176 the source is really started: a change of the file arrives by itself", .timeLimit(.minutes(5)))
    func started() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try events()
        let monitor = monitor(every: .milliseconds(10))
        let told = AsyncStream.makeStream(of: MemoryPressure.self)
        let subscription = monitor.subscribe { told.continuation.yield($0) }
        try events(high: 1)
        var pressures = told.stream.makeAsyncIterator()
        #expect(await pressures.next() == .moderate)
        try events(high: 1, oom: 1)
        #expect(await pressures.next() == .critical)
        subscription.cancel()
    }

    @Test("Stalls count when they took a tenth of the time")
    func stalls() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        func stalls(_ some: Int, _ full: Int) throws {
            let averages = "avg10=0.00 avg60=0.00 avg300=0.00"
            let lines = "some \(averages) total=\(total(some))\nfull \(averages) total=\(total(full))\n"
            try write(lines, to: "memory.pressure")
        }
        let start = MonotonicInstant.now
        try stalls(1, 1)
        let (monitor, probe) = (monitor(), ProbeLevel())
        let subscription = monitor.subscribe(probe)
        try stalls(50, 1)
        monitor.look(at: start.advanced(by: hours(1)))
        #expect(probe.calls == [])
        try stalls(200, 1)
        monitor.look(at: start.advanced(by: hours(2)))
        #expect(probe.calls == [.relieve(.moderate)])
        try stalls(400, 190)
        monitor.look(at: start.advanced(by: hours(3)))
        #expect(probe.calls == [.relieve(.moderate), .relieve(.critical)])
        subscription.cancel()
    }

    @Test(
        "A limit that is reached by copies of files alone is no pressure",
        arguments: [("1000", "max"), ("max", "1000")]
    )
    func files(max: String, high: String) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        func use(_ use: Int, files: Int) throws {
            try write("\(use)\n", to: "memory.current")
            let parts = "anon 1\nfile 2\ninactive_file \(files / 2)\nactive_file \(files - files / 2)\n"
            try write(parts, to: "memory.stat")
        }
        try write("\(max)\n", to: "memory.max")
        try write("\(high)\n", to: "memory.high")
        try use(1000, files: 500)
        try events()
        let (monitor, probe) = (monitor(), ProbeLevel())
        let subscription = monitor.subscribe(probe)
        try events(max: 1)
        monitor.look()
        #expect(probe.calls == [])
        try use(1000, files: 101)
        try events(max: 2)
        monitor.look()
        #expect(probe.calls == [])
        try use(1000, files: 100)
        try events(max: 3)
        monitor.look()
        #expect(probe.calls == [.relieve(.moderate)])
        subscription.cancel()
    }

    @Test(
        "Files that are missing or odd are no pressure",
        arguments: ["", "high", "high x, max -1", "high 99999999999999999999"]
    )
    func odd(text: String) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        // Growth shows only beside what was read before.
        try events()
        try write("some avg10=0.00 total=0\nfull avg10=0.00 total=0\n", to: "memory.pressure")
        let (monitor, probe) = (monitor(), ProbeLevel())
        let subscription = monitor.subscribe(probe)
        monitor.look()
        try write(text)
        try write(text, to: "memory.pressure")
        monitor.look()
        #expect(probe.calls == [])
        subscription.cancel()
    }
}
