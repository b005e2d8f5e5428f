import Testing

@testable import FleetSimulation

@Suite("Events in simulated time")
struct EventQueueTests {
    @Test("they come in the order of their times, those of one time in the order in which they were added")
    func order() {
        var queue = EventQueue<Int>()
        let times = (0..<1_000).map { _ in Int64.random(in: 0..<50) }
        for (number, time) in times.enumerated() { queue.add(number, at: time) }
        var told: [(Int64, Int)] = []
        while let (time, event) = queue.removeFirst() { told.append((time, event)) }
        let expected = times.enumerated().map { ($1, $0) }.sorted { $0 < $1 }
        #expect(told.elementsEqual(expected, by: ==))
    }
}
