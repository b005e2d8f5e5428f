/// A reading of the system's memory: counters that only grow, so that two readings show the events in between.
struct MemoryPressureReading: Equatable, Sendable {
    /// How often the control group was throttled or had to reclaim, because it was at its limits.
    var reclaims = 0
    /// How often the control group could not get memory at all.
    var failures = 0
    /// Microseconds in which some task waited for memory.
    var someStalled = 0
    /// Microseconds in which all tasks did.
    var allStalled = 0

    /// Takes the lines of a control group's `memory.events`.
    mutating func add(events text: [UInt8]) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: " "))
            guard parts.count == 2, let count = MemoryPressureReading.number(parts[1]) else { continue }
            switch String(decoding: parts[0], as: UTF8.self) {
            case "high", "max": reclaims = reclaims.addingReportingOverflow(count).partialValue
            case "oom", "oom_kill": failures = failures.addingReportingOverflow(count).partialValue
            default: break
            }
        }
    }

    /// Takes the lines of a `memory.pressure`, the kernel's account of stalls.
    mutating func add(stalls text: [UInt8]) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: " "))
            let total = parts.last { $0.starts(with: "total=".utf8) }
            guard let kind = parts.first, let total, let count = MemoryPressureReading.number(total.dropFirst(6)) else {
                continue
            }
            switch String(decoding: kind, as: UTF8.self) {
            case "some": someStalled = count
            case "full": allStalled = count
            default: break
            }
        }
    }

    /// The pressure since an earlier reading; `nil` for none.
    ///
    /// Stalls count when they took a tenth of the time.
    func pressure(since earlier: MemoryPressureReading, over pause: Duration) -> MemoryPressure? {
        let tenth = max(Int(clamping: pause.saturatedNanoseconds / 10_000), 1)
        if failures > earlier.failures || allStalled &- earlier.allStalled > tenth { return .critical }
        if reclaims > earlier.reclaims || someStalled &- earlier.someStalled > tenth { return .moderate }
        return nil
    }

    private static func number(_ digits: some Sequence<UInt8>) -> Int? {
        Int(String(decoding: Array(digits), as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
    }
}
