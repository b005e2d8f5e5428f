/// A reading of the system's memory: counters that only grow, so that two readings show the events in between, and what
/// the control group uses now.
struct MemoryPressureReading: Equatable, Sendable {
    /// How often the control group was throttled or had to reclaim, because it was at its limits; `nil`, as all the
    /// others, when it cannot be read.
    var reclaims: Int?
    /// How often the control group could not get memory at all.
    var failures: Int?
    /// Microseconds in which some task waited for memory.
    var someStalled: Int?
    /// Microseconds in which all tasks did.
    var allStalled: Int?
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
            case "high", "max": reclaims = (reclaims ?? 0).addingReportingOverflow(count).partialValue
            case "oom", "oom_kill": failures = (failures ?? 0).addingReportingOverflow(count).partialValue
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

    /// Whether the group had to reclaim because of copies of files alone: nine tenths of the limit are more than the
    /// rest uses.
    private var hasRoom: Bool {
        guard let limit, let used else { return false }
        return used < limit - limit / 10
    }

    /// The pressure since an earlier reading; `nil` for none.
    ///
    /// Stalls count when they took a tenth of the time. That the group is at its limit counts when it is not full of
    /// copies of files: a process that reads or writes files has it there all the time. What one of the readings lacks
    /// says nothing: a process without descriptors cannot read, and what it reads then has not grown from zero.
    func pressure(since earlier: MemoryPressureReading, over pause: Duration) -> MemoryPressure? {
        func growth(_ counter: KeyPath<MemoryPressureReading, Int?>) -> Int {
            guard let now = self[keyPath: counter], let then = earlier[keyPath: counter] else { return 0 }
            return now.subtractingReportingOverflow(then).partialValue
        }
        let tenth = max(Int(clamping: pause.saturatedNanoseconds / 10_000), 1)
        if growth(\.failures) > 0 || growth(\.allStalled) > tenth { return .critical }
        if growth(\.someStalled) > tenth { return .moderate }
        let isUnknown = used == nil && earlier.used != nil || limit == nil && earlier.limit != nil
        if growth(\.reclaims) > 0, !hasRoom, !isUnknown { return .moderate }
        return nil
    }

    /// This reading, with what it lacks from an earlier one.
    func completed(by earlier: MemoryPressureReading) -> MemoryPressureReading {
        var reading = self
        reading.reclaims = reclaims ?? earlier.reclaims
        reading.failures = failures ?? earlier.failures
        reading.someStalled = someStalled ?? earlier.someStalled
        reading.allStalled = allStalled ?? earlier.allStalled
        reading.limit = limit ?? earlier.limit
        reading.used = used ?? earlier.used
        return reading
    }

    private static func number(_ digits: some Sequence<UInt8>) -> Int? {
        Int(String(decoding: Array(digits), as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
    }
}
