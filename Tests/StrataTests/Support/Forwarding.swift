import Strata
import StrataTesting
import Testing

/// Checks that everything but reads reaches the level inside once, unchanged, and with its outcome.
func expectWritesForwarded<Level: CacheLevel<String, Int>>(
    _ level: Level,
    to probe: ProbeLevel,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let before = probe.calls.count
    try await level.set(7, for: "w")
    try await level.remove("w")
    try await level.clear()
    level.relieve(.moderate)
    let calls: [ProbeLevel.Call] = [.set("w", 7), .remove("w"), .removeAll, .relieve(.moderate)]
    #expect(Array(probe.calls.dropFirst(before)) == calls, sourceLocation: sourceLocation)
    probe.failSets("set")
    probe.failRemoves("remove")
    await #expect(throws: ProbeLevel.Failure(name: "set"), sourceLocation: sourceLocation) {
        try await level.set(7, for: "w")
    }
    await #expect(throws: ProbeLevel.Failure(name: "remove"), sourceLocation: sourceLocation) {
        try await level.remove("w")
    }
    probe.failSets(nil)
    probe.failRemoves(nil)
}

/// Checks that value, miss, failure and cancellation of a read pass through, each after one read of the key.
func expectReadsForwarded<Level: CacheLevel<String, Int>>(
    _ level: Level,
    to probe: ProbeLevel,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    probe.put(5, for: "r")
    let before = probe.calls.count
    #expect(try await level.get("r") == 5, sourceLocation: sourceLocation)
    #expect(try await level.get("missing") == nil, sourceLocation: sourceLocation)
    #expect(Array(probe.calls.dropFirst(before)) == [.get("r"), .get("missing")], sourceLocation: sourceLocation)
    probe.failGets("get")
    await #expect(throws: ProbeLevel.Failure(name: "get"), sourceLocation: sourceLocation) { try await level.get("r") }
    probe.failGets(nil)
    try await expectCancellationForwarded(level, to: probe, sourceLocation: sourceLocation)
}

/// Checks that a caller that is cancelled ends as cancelled, and that the level inside sees it.
func expectCancellationForwarded<Level: CacheLevel<String, Int>>(
    _ level: Level,
    to probe: ProbeLevel,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let gate = AsyncGate()
    probe.holdGets(gate)
    let read = Task { try await level.get("r") }
    await gate.arrivals()
    read.cancel()
    await #expect(throws: CancellationError.self, sourceLocation: sourceLocation) { try await read.value }
    probe.holdGets(nil)
}
