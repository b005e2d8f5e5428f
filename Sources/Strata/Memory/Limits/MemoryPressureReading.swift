/// A reading of the system's memory: counters that only grow, so that two readings show the events in between, and what the
/// control group uses now.
struct MemoryPressureReading: Equatable, Sendable {
    /// How often the control group was throttled or had to reclaim, because it was at its limits.
    var reclaims = 0
    /// How often the control group could not get memory at all.
    var failures = 0
    /// Microseconds in which some task waited for memory.
    var someStalled = 0
    /// Microseconds in which all tasks did.
    var allStalled = 0
    /// What the control group may use; `nil` for no limit.
    var limit: Int?
    /// What it uses beside copies of files, which the kernel drops when it needs room; `nil` when that is not known.
    var used: Int?

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

    /// Takes a limit, `memory.max` or `memory.high`: the lower one counts.
    mutating func add(limit text: [UInt8]) {
        guard let bytes = MemoryPressureReading.number(text.prefix { $0 != UInt8(ascii: "\n") }) else { return }
        limit = min(limit ?? .max, bytes)
    }

    /// Takes a `memory.current`, and the lines of a `memory.stat`.
    mutating func add(use text: [UInt8], parts: [UInt8]) {
        guard let use = MemoryPressureReading.number(text.prefix { $0 != UInt8(ascii: "\n") }) else { return }
        var files: [Int] = []
        for line in parts.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count == 2,
                ["active_file", "inactive_file"].contains(String(decoding: words[0], as: UTF8.self)),
                let bytes = MemoryPressureReading.number(words[1])
            else { continue }
            files.append(bytes)
        }
        guard files.count == 2 else { return }
        used = max(0, files.reduce(use) { $0.subtractingReportingOverflow($1).partialValue })
    }

    /// Whether the group had to reclaim because of copies of files alone: nine tenths of the limit are more than the rest uses.
    private var hasRoom: Bool {
        guard let limit, let used else { return false }
        return used < limit - limit / 10
    }

    /// The pressure since an earlier reading; `nil` for none.
    ///
    /// Stalls count when they took a tenth of the time. That the group is at its limit counts when it is not full of copies of
    /// files: a process that reads or writes files has it there all the time.
    func pressure(since earlier: MemoryPressureReading, over pause: Duration) -> MemoryPressure? {
        let tenth = max(Int(clamping: pause.saturatedNanoseconds / 10_000), 1)
        if failures > earlier.failures || allStalled &- earlier.allStalled > tenth { return .critical }
        if someStalled &- earlier.someStalled > tenth { return .moderate }
        if reclaims > earlier.reclaims, !hasRoom { return .moderate }
        return nil
    }

    private static func number(_ digits: some Sequence<UInt8>) -> Int? {
        Int(String(decoding: Array(digits), as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
    }
}
