import StrataTesting

extension LinkDirection {
    /// A direction whose chances repeat.
    static func faulty(_ conditions: LinkConditions = LinkConditions(), _ edits: WireEdit...) -> LinkDirection {
        LinkDirection(conditions, edits: edits, seed: 1)
    }

    mutating func receive(_ text: String, at now: Instant) {
        receive(ArraySlice(text.utf8), at: now)
    }

    /// Everything that may leave at one moment, piece by piece, and what comes after.
    mutating func drain(at now: Instant) -> (pieces: [String], then: Action) {
        var pieces: [String] = []
        while true {
            let action = nextAction(at: now)
            guard case .send(let bytes) = action else { return (pieces, action) }
            pieces.append(String(decoding: bytes, as: UTF8.self))
            sent(bytes.count, at: now)
        }
    }
}
