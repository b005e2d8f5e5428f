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
    /// Whether a reply may be larger than ordinary, by how many went before it since ``completed`` was reset.
    var allowance: (Int) -> Bool = { _ in true }
    /// How many replies were taken.
    var completed = 0
    /// The announced length of the string that is being passed over.
    var passedOver: Int?
    /// Whether the reply under way is known to be allowed to be large.
    private var isLarge = false
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
        isLarge = false
        completed += 1
        return complete.take()
    }

    /// Whether a string or line of `count` bytes still fits into the reply under way.
    func hasRoom(for count: Int) -> Bool { count <= limits.length - length }

    /// Whether the reply under way may grow by so much, as far as its command goes.
    mutating func isAllowed(bytes: Int = 0, elements: Int = 0) -> Bool {
        let ordinary = ReplyLimits.ordinary
        guard !isLarge, bytes > ordinary.length - length || elements > ordinary.elements else { return true }
        isLarge = allowance(completed)
        return isLarge
    }

    /// A bulk string: the value that it stands for, unless it is to be passed over.
    mutating func append(bulk count: Int, _ make: () -> [UInt8]) -> CInt {
        if let announced = passedOver.take() { return append(.oversized(announced)) }
        guard isAllowed(bytes: count) else { return refuseLarge() }
        guard count <= limits.bulkLength, hasRoom(for: count) else { return append(.oversized(count)) }
        length += count
        return append(.bytes(make()))
    }

    mutating func append(line value: RESPValue, ofLength count: Int) -> CInt {
        guard isAllowed(bytes: count) else { return refuseLarge() }
        guard hasRoom(for: count) else { return refuse("a reply is longer than the limit of \(limits.length) bytes") }
        length += count
        return append(value)
    }

    mutating func refuseLarge() -> CInt { refuse(Self.tooLargeForCommand) }

    static let tooLargeForCommand = "a reply is larger than any that its command can have"

    mutating func beginArray(_ count: Int64) -> CInt {
        guard open.count < limits.depth else {
            return refuse("arrays are nested deeper than the limit of \(limits.depth)")
        }
        let (total, overflow) = announced.addingReportingOverflow(Int(count))
        guard count >= 0, !overflow, total <= limits.elements else {
            return refuse("an array announces more elements than the limit of \(limits.elements)")
        }
        guard isAllowed(elements: total) else { return refuseLarge() }
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
