/// Builds replies from the parser's callbacks, without a tree in between.
///
/// Memory is reserved as elements arrive, never from the announced count.
struct ReplyBuilder {
    private struct Frame {
        var elements: [RESPValue]
        var remaining: Int
    }

    /// What the callbacks answer to the parser.
    private static let accepted: CInt = 1
    private static let refused: CInt = 0

    var limits = ReplyLimits()
    /// Why the last element was refused.
    private(set) var refusal: String?
    private var open: [Frame] = []
    private var announced = 0
    /// Bytes of the strings and lines of the reply under way.
    private var length = 0
    private var complete: RESPValue?

    mutating func takeReply() -> RESPValue? {
        announced = 0
        length = 0
        return complete.take()
    }

    /// Whether a string or line of `count` bytes still fits into the reply under way.
    func hasRoom(for count: Int) -> Bool { count <= limits.length - length }

    mutating func append(_ value: RESPValue, ofLength count: Int) -> CInt {
        guard hasRoom(for: count) else { return refuse("a reply is longer than the limit of \(limits.length) bytes") }
        length += count
        return append(value)
    }

    mutating func beginArray(_ count: Int64) -> CInt {
        guard open.count < limits.depth else {
            return refuse("arrays are nested deeper than the limit of \(limits.depth)")
        }
        let (total, overflow) = announced.addingReportingOverflow(Int(count))
        guard count >= 0, !overflow, total <= limits.elements else {
            return refuse("an array announces more elements than the limit of \(limits.elements)")
        }
        announced = total
        guard count > 0 else { return append(.array([])) }
        open.append(Frame(elements: [], remaining: Int(count)))
        return Self.accepted
    }

    mutating func append(_ value: RESPValue) -> CInt {
        guard !open.isEmpty else {
            complete = value
            return Self.accepted
        }
        open[open.count - 1].elements.append(value)
        open[open.count - 1].remaining -= 1
        while let top = open.last, top.remaining == 0 {
            open.removeLast()
            guard !open.isEmpty else {
                complete = .array(top.elements)
                break
            }
            open[open.count - 1].elements.append(.array(top.elements))
            open[open.count - 1].remaining -= 1
        }
        return Self.accepted
    }

    mutating func refuse(_ reason: String) -> CInt {
        refusal = reason
        return Self.refused
    }
}
