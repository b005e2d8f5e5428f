/// The source of `load coldstart`: it takes so many calls at a time, and the others wait in a line.
actor ColdStartSource {
    /// What it was asked in some time.
    struct Counts {
        var calls = 0
        var keys = 0
        var longestLine = 0
    }

    private let room: Int
    private let pause: Duration
    private var running = 0
    private var line: [CheckedContinuation<Void, Never>] = []
    private var calls = 0
    private var keys: Set<Int> = []
    private var longestLine = 0

    init(room: Int, pause: Duration) {
        self.room = room
        self.pause = pause
    }

    static func value(of key: Int) -> String { "value of \(key) " + String(repeating: "x", count: 500) }

    func value(of key: Int) async throws -> String {
        calls += 1
        keys.insert(key)
        if running < room {
            running += 1
        } else {
            // Whoever leaves hands its place over.
            await withCheckedContinuation { continuation in
                line.append(continuation)
                longestLine = max(longestLine, line.count)
            }
        }
        defer { if line.isEmpty { running -= 1 } else { line.removeFirst().resume() } }
        try await Task.rest(for: pause)
        return Self.value(of: key)
    }

    /// What it was asked since it was asked this last.
    func takeCounts() -> Counts {
        defer {
            (calls, longestLine) = (0, 0)
            keys.removeAll()
        }
        return Counts(calls: calls, keys: keys.count, longestLine: longestLine)
    }
}
