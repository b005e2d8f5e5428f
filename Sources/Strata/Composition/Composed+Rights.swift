extension Composed {
    /// The rights to fill the upper level with these keys; `nil` where it is memory, or is not to be filled.
    func rightsAbove(_ keys: [Key], _ request: ReadRequest, isFailing: Bool) async -> FillRights? {
        guard ledger != nil, !request.leavesUnfilled(upper) else { return nil }
        return await upper.rights(toFill: keys, isWorthAsking: !isFailing, isUnread: request.leavesOut(upper))
    }

    /// Asks for the rights to fill both levels, as what fills this one goes to both.
    func claim(_ keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        request.rights?.note(tagChangesAt: fillGate)
        if upper.gate != nil { _ = try await upper.entries(for: keys, request) }
        if lower.gate != nil { _ = try await lower.entries(for: keys, request) }
        return Array(repeating: nil, count: keys.count)
    }
}
