/// The faults of a ``LinkDirection`` that are about whole replies: one is lost, comes twice, or after the next one.
///
/// Without an armed fault bytes pass as they come, and only the ends of replies are noted.
package struct ReplyFaults: Sendable {
    package enum Fault: Sendable, Hashable {
        case swallow
        case duplicate
        case swap
    }

    /// A longer reply is left as it is.
    private static let limit = 1 << 20

    private var framer = ReplyFramer()
    private var armed: [(position: Int, fault: Fault)] = []
    /// What happens to the reply that is arriving.
    private var current: Fault?
    /// What is here of a reply that comes twice or late.
    private var copy: [UInt8] = []
    /// A whole reply that waits for the next one.
    private var held: [UInt8]?

    /// How many bytes were taken out, and how many were added, since the start.
    package private(set) var swallowed = 0
    package private(set) var added = 0

    package init() {}

    package mutating func arm(_ fault: Fault, after position: Int) {
        armed.append((position, fault))
    }

    /// Takes back what is armed, and returns what was held back.
    package mutating func heal() -> [UInt8] {
        armed = []
        // Amid the next reply there is no place for it; it comes behind that one.
        let whole = framer.isInside ? [] : held ?? []
        if !framer.isInside { held = nil }
        let rest = whole + (current == .swap ? copy : [])
        // A reply of which some is gone already stays away.
        if current != .swallow { current = nil }
        copy = []
        return rest
    }

    /// What of these bytes goes on now, with what was held back before.
    package mutating func pass(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if armed.isEmpty, current == nil, held == nil {
            var rest = bytes
            while !rest.isEmpty, !framer.isLost { rest = rest.dropFirst(framer.scan(rest).count) }
            return bytes
        }
        var output: [UInt8] = []
        var rest = bytes
        while !rest.isEmpty {
            if !framer.isInside { begin() }
            let (count, isEnd) = framer.scan(rest)
            take(rest.prefix(count), &output)
            if isEnd { end(&output) }
            if framer.isLost { giveUp(&output) }
            rest = rest.dropFirst(count)
        }
        return output[...]
    }

    private mutating func begin() {
        let due = held == nil ? armed.firstIndex { $0.position == 0 } : nil
        for index in armed.indices where armed[index].position > 0 { armed[index].position -= 1 }
        current = due.map { armed.remove(at: $0).fault }
    }

    private mutating func take(_ bytes: ArraySlice<UInt8>, _ output: inout [UInt8]) {
        switch current {
        case nil: output += bytes
        case .swallow: swallowed += bytes.count
        case .duplicate:
            output += bytes
            copy += bytes
        case .swap: copy += bytes
        }
        if copy.count > Self.limit { giveUp(&output) }
    }

    /// Lets the reply that is arriving be what it is.
    private mutating func giveUp(_ output: inout [UInt8]) {
        if current == .swap { output += copy }
        current = nil
        copy = []
    }

    private mutating func end(_ output: inout [UInt8]) {
        switch current {
        case .swap: held = copy
        case .duplicate:
            output += copy
            added += copy.count
        case .swallow, nil:
            if let held { output += held }
            held = nil
        }
        current = nil
        copy = []
    }
}
