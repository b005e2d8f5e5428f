/// What waits in a line.
protocol Numbered: Sendable {
    /// A number that no other in the line has.
    var number: UInt64 { get }
}

/// Those that wait, in the order in which they came; each may leave at any time.
///
/// Each call is O(1) on average.
struct WaitLine<Element: Numbered>: Sendable {
    /// `nil` where one has left.
    private var line: [Element?] = []
    /// How many have been taken out in front of the line.
    private var passed = 0
    private var start = 0
    /// Where each one is, counted from the first that ever came.
    private var positions: [UInt64: Int] = [:]

    var isEmpty: Bool { positions.isEmpty }

    var count: Int { positions.count }

    /// The one that came first.
    var first: Element? { start < line.count ? line[start] : nil }

    /// Puts one at the end.
    mutating func append(_ element: Element) {
        positions[element.number] = passed + line.count
        line.append(element)
    }

    /// Takes out the one that came first.
    mutating func removeFirst() -> Element? { first.flatMap { remove($0.number) } }

    /// Takes one out, wherever it stands.
    @discardableResult
    mutating func remove(_ number: UInt64) -> Element? {
        guard let position = positions.removeValue(forKey: number) else { return nil }
        let element = line[position - passed].take()
        while start < line.count, line[start] == nil { start += 1 }
        guard start == line.count || start > 64 && 2 * start > line.count else { return element }
        line.removeFirst(start)
        passed += start
        start = 0
        return element
    }
}
