internal import Strata

/// One direction of one connection: what was received and not yet delivered, and which faults stand in its way.
///
/// Pure: bytes and the time go in, ``Action``s come out; the sockets are ``ProxyConnection``'s.
///
/// Edits and pieces apply when bytes are about to leave, so that they also reach bytes that were waiting already.
package struct LinkDirection: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// What to do next.
    package enum Action: Equatable {
        /// Send some of these bytes, and say how many with ``LinkDirection/sent(_:at:)``.
        case send(ArraySlice<UInt8>)
        /// Nothing before this moment.
        case wait(until: Instant)
        /// Nothing before something else happens.
        case idle
        /// Tell the receiver that nothing more comes. Given once.
        case end
        /// Close the connection.
        case close(reset: Bool)
    }

    private struct Chunk: Sendable {
        var bytes: ArraySlice<UInt8>
        var releaseAt: Instant
        /// Whether an edit added it.
        ///
        /// Then it goes out before any other edit is looked at.
        var isAdded = false
    }

    private struct Pending: Sendable {
        var position: Int
        var kind: WireEdit.Kind
        /// What a duplicate has seen of its bytes.
        var copy: [UInt8] = []
    }

    private enum Phase: Sendable {
        case open
        /// The sender has ended; the receiver learns it when everything is delivered, and not before this moment.
        case ending(at: Instant, byReset: Bool)
        /// Ended by order: the receiver learns it now.
        case cut
        case ended
    }

    package private(set) var conditions: LinkConditions
    package private(set) var counts = LinkCounts()
    private var edits: [Pending] = []
    private var replies = ReplyFaults()
    private var chunks: ArraySlice<Chunk> = []
    private var buffered = 0
    private var phase = Phase.open
    private var lastRelease: Instant?
    private var nextSendAt: Instant?
    private var pieceLeft: Int?
    private var generator: SplitMix64

    package init(_ conditions: LinkConditions = LinkConditions(), edits: [WireEdit] = [], seed: UInt64) {
        self.conditions = conditions.clamped
        self.generator = SplitMix64(seed: seed)
        for edit in edits {
            add(edit)
        }
    }

    /// How many bytes to read from the sender now; 0 for not reading at all.
    package var room: Int {
        switch phase {
        case .open: conditions.isStalled ? 0 : max(conditions.bufferLimit - buffered, 0)
        case .ending: 0
        // After a half-close the sender may go on; its bytes are dropped.
        case .cut, .ended: .max
        }
    }

    // MARK: Faults

    /// Changes the conditions.
    ///
    /// Bytes under way keep the delay they set out with.
    package mutating func change(_ body: (inout LinkConditions) -> Void) {
        let old = conditions
        body(&conditions)
        conditions = conditions.clamped
        if conditions.pieceSize != old.pieceSize { pieceLeft = nil }
        if conditions.bytesPerSecond != old.bytesPerSecond || conditions.pieceInterval != old.pieceInterval {
            nextSendAt = nil
        }
    }

    package mutating func add(_ edit: WireEdit) {
        switch edit.kind {
        // Without a byte to work on they would never be done.
        case .swallow(0), .duplicate(0), .insert([]): break
        // They apply on the way in: a reply may have to wait for the next one.
        case .reply(let fault): replies.arm(fault, after: edit.position)
        default: edits.append(Pending(position: edit.position, kind: edit.kind))
        }
    }

    /// Makes the link faultless; what waits leaves at once.
    package mutating func heal(at now: Instant) {
        let limit = conditions.bufferLimit
        conditions = LinkConditions()
        conditions.bufferLimit = limit
        edits = []
        pieceLeft = nil
        nextSendAt = nil
        lastRelease = nil
        for index in chunks.indices {
            chunks[index].releaseAt = min(chunks[index].releaseAt, now)
        }
        queue(replies.heal()[...], at: now)
        if case .ending(_, let byReset) = phase { phase = .ending(at: now, byReset: byReset) }
    }

    /// Drops what waits and ends the direction now, frozen or not.
    package mutating func cut() {
        if case .ended = phase { return }
        dropAll()
        phase = .cut
    }

    // MARK: Bytes

    /// Takes bytes from the sender.
    package mutating func receive(_ bytes: ArraySlice<UInt8>, at now: Instant) {
        counts.received &+= bytes.count
        guard case .open = phase, !conditions.isBlackhole else {
            counts.swallowed &+= bytes.count
            return
        }
        let (swallowed, added) = (replies.swallowed, replies.added)
        queue(replies.pass(bytes), at: now)
        counts.swallowed &+= replies.swallowed - swallowed
        counts.added &+= replies.added - added
    }

    private mutating func queue(_ bytes: ArraySlice<UInt8>, at now: Instant) {
        guard !bytes.isEmpty else { return }
        chunks.append(Chunk(bytes: bytes, releaseAt: releaseTime(at: now)))
        buffered += bytes.count
    }

    /// Takes the sender's end.
    package mutating func receiveEnd(at now: Instant) {
        guard case .open = phase else { return }
        queue(replies.heal()[...], at: now)
        phase = .ending(at: releaseTime(at: now), byReset: false)
    }

    /// Takes the sender's reset, which travels on as one, behind what was sent before it.
    package mutating func receiveReset(at now: Instant) {
        phase = .ending(at: releaseTime(at: now), byReset: true)
    }

    /// What to do now.
    package mutating func nextAction(at now: Instant) -> Action {
        while true {
            switch phase {
            case .cut:
                phase = .ended
                return .end
            case .ended:
                return .idle
            case .open, .ending:
                if conditions.isStalled { return .idle }
            }
            if conditions.isBlackhole {
                dropAll()
                return .idle
            }
            if chunks.first?.isAdded != true, let edit = takeEditBetweenBytes() {
                if let action = apply(edit, at: now) { return action }
                continue
            }
            guard let head = chunks.first else { return actionWhenEmpty(at: now) }
            let ready = max(head.releaseAt, nextSendAt ?? head.releaseAt)
            guard ready <= now else { return .wait(until: ready) }
            if !head.isAdded, editHead() { continue }
            if pieceLeft == nil, let size = conditions.pieceSize {
                pieceLeft = Int.random(in: size, using: &generator)
            }
            return .send(head.bytes.prefix(allowance(of: head)))
        }
    }

    /// Notes that the first `count` bytes of the last ``Action/send(_:)`` are out.
    package mutating func sent(_ count: Int, at now: Instant) {
        guard let head = chunks.first, count > 0 else { return }
        counts.delivered &+= count
        let bytes = head.bytes.prefix(count)
        removeFromHead(count)
        pace(count, at: now)
        guard !head.isAdded else { return }
        var copies: [UInt8] = []
        for index in edits.indices {
            guard case .duplicate(let total) = edits[index].kind, edits[index].position == 0 else { continue }
            edits[index].copy += bytes
            if edits[index].copy.count >= total { copies += edits[index].copy }
        }
        if !copies.isEmpty { prepend(copies, at: now) }
        edits.removeAll { edit in
            if case .duplicate(let total) = edit.kind { edit.copy.count >= total } else { false }
        }
        advanceEdits(by: count)
    }

    private mutating func actionWhenEmpty(at now: Instant) -> Action {
        guard case .ending(let end, let byReset) = phase else { return .idle }
        guard end <= now else { return .wait(until: end) }
        phase = .ended
        return byReset ? .close(reset: true) : .end
    }

    // MARK: Edits

    /// Takes the first due edit that happens between two bytes.
    private mutating func takeEditBetweenBytes() -> WireEdit.Kind? {
        let index = edits.firstIndex { edit in
            guard edit.position == 0 else { return false }
            switch edit.kind {
            case .insert, .stall, .end, .close, .reset: return true
            case .corrupt, .swallow, .duplicate, .reply: return false
            }
        }
        return index.map { edits.remove(at: $0).kind }
    }

    private mutating func apply(_ edit: WireEdit.Kind, at now: Instant) -> Action? {
        switch edit {
        case .insert(let bytes): prepend(bytes, at: now)
        case .stall: conditions.isStalled = true
        case .end: cut()
        case .close: return .close(reset: false)
        case .reset: return .close(reset: true)
        case .corrupt, .swallow, .duplicate, .reply: break
        }
        return nil
    }

    /// Applies the due edits to the bytes at the head; `false` when there is none.
    private mutating func editHead() -> Bool {
        var isChanged = false
        var isSwallowing = false
        var index = edits.startIndex
        while index < edits.endIndex {
            guard edits[index].position == 0 else {
                index += 1
                continue
            }
            switch edits[index].kind {
            case .corrupt(let mask):
                // First of all: if the byte is swallowed, the edit must not be left for the next one.
                edits.remove(at: index)
                let first = chunks[chunks.startIndex].bytes.startIndex
                chunks[chunks.startIndex].bytes[first] ^= mask ?? 1 << UInt8.random(in: 0..<8, using: &generator)
                counts.corrupted &+= 1
                isChanged = true
                continue
            case .swallow: isSwallowing = true
            default: break
            }
            index += 1
        }
        if isSwallowing { swallow() }
        return isChanged || isSwallowing
    }

    /// Takes bytes out for all due edits that want it: where two of them overlap, a byte vanishes for both.
    private mutating func swallow() {
        var count = min(chunks[chunks.startIndex].bytes.count, bytesToNextEdit)
        for edit in edits where edit.position == 0 {
            if case .swallow(let left) = edit.kind { count = min(count, left) }
        }
        for index in edits.indices.reversed() where edits[index].position == 0 {
            guard case .swallow(let left) = edits[index].kind else { continue }
            if left == count {
                edits.remove(at: index)
            } else {
                edits[index].kind = .swallow(left - count)
            }
        }
        removeFromHead(count)
        counts.swallowed &+= count
        advanceEdits(by: count)
    }

    private var bytesToNextEdit: Int {
        edits.lazy.map(\.position).filter { $0 > 0 }.min() ?? .max
    }

    private mutating func advanceEdits(by count: Int) {
        for index in edits.indices where edits[index].position > 0 {
            edits[index].position -= count
        }
    }

    // MARK: Pace

    private func allowance(of head: Chunk) -> Int {
        var count = min(head.bytes.count, pieceLeft ?? .max)
        if let rate = conditions.bytesPerSecond {
            // A hundredth of a second's worth at a time: even, without a wake-up for every byte.
            count = min(count, max(rate / 100, 1))
        }
        guard !head.isAdded else { return count }
        for edit in edits where edit.position == 0 {
            if case .duplicate(let total) = edit.kind {
                count = min(count, total - edit.copy.count)
            }
        }
        return min(count, bytesToNextEdit)
    }

    private mutating func pace(_ count: Int, at now: Instant) {
        if let left = pieceLeft {
            pieceLeft = left > count ? left - count : nil
            if left <= count, conditions.pieceInterval > .zero {
                nextSendAt = now + conditions.pieceInterval
            }
        }
        if let rate = conditions.bytesPerSecond {
            let cost = Duration.nanoseconds(Int64(count) * 1_000_000_000 / Int64(rate))
            // A wake-up that comes a little late is made good; a pause is not.
            let start = max(nextSendAt ?? now, now - .milliseconds(10))
            nextSendAt = start + cost
        }
    }

    // MARK: Queue

    private mutating func releaseTime(at now: Instant) -> Instant {
        var moment = now + conditions.delay
        let (seconds, attoseconds) = conditions.jitter.components
        let jitter = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        if jitter > 0 {
            moment += .nanoseconds(Int64.random(in: 0...jitter, using: &generator))
        }
        moment = max(moment, lastRelease ?? moment)
        lastRelease = moment
        return moment
    }

    private mutating func prepend(_ bytes: [UInt8], at now: Instant) {
        chunks = [Chunk(bytes: bytes[...], releaseAt: now, isAdded: true)] + chunks
        buffered += bytes.count
        counts.added &+= bytes.count
    }

    private mutating func removeFromHead(_ count: Int) {
        let head = chunks.startIndex
        chunks[head].bytes = chunks[head].bytes.dropFirst(count)
        buffered -= count
        if chunks[head].bytes.isEmpty {
            chunks = chunks.dropFirst()
        }
    }

    private mutating func dropAll() {
        counts.swallowed &+= chunks.reduce(0) { $0 + ($1.isAdded ? 0 : $1.bytes.count) }
        chunks = []
        buffered = 0
    }
}
