internal import Strata

/// Collapsed requests (RFC 9111 §4): of GETs that miss the same response at once, one goes on to the server.
///
/// Nobody is handed what another has got: who has waited looks into the storage again, and is judged there by the rules
/// for stored responses. So one caller's credentials, failure or forgotten response never becomes another's.
extension HTTPCache {
    /// By what a request is the same as others; `nil` for one that asks alone.
    func collapsedKey(_ target: HTTPTarget, _ found: Found, _ wishes: RequestDirectives) -> HTTPResource? {
        let request = target.request
        guard request.method == "GET", request.body.isEmpty, !request.isAuthorized, !wishes.isValidated,
            found.part == nil
        else { return nil }
        // The server is asked by the conditions of what is kept, in place of the caller's.
        let asksItself = found.entry?.value.map { !$0.conditions.isEmpty } ?? false
        let asked = origin.leavesConditions ? request.fields.without(HTTPConditions.answered) : request.fields
        guard request.fields.values(of: "range").isEmpty, asksItself || !HTTPConditions.areIn(asked) else {
            return nil
        }
        let key = likelyKey(target, found)
        return key.isTooLong ? nil : key
    }

    /// Where the response will be kept, unless it varies by other fields than the last one.
    func likelyKey(_ target: HTTPTarget, _ found: Found) -> HTTPResource {
        if found.entry != nil { return found.key }
        return found.variants.flatMap { variants in variants.names.first.map { target.key(variants, $0) } }
            ?? target.base
    }

    /// Whether requests with this key do not wait, because what came last could not be reused: waiting would only make
    /// them slower.
    func isUncollapsed(_ key: HTTPResource) -> Bool {
        collapseLimit <= .zero || uncollapsed.left(for: key, at: time.now) != nil
    }

    /// Asks the server for all that ask the same.
    ///
    /// - Returns: What it says; `nil` when another request was waited for, in this process or another one.
    func collapsed(
        _ key: HTTPResource,
        _ target: HTTPTarget,
        _ found: Found,
        _ wishes: RequestDirectives
    ) async throws -> Result<Exchanged, any Error>? {
        var hasWaited = false
        // Who asks the server waits for it as long as the fetcher does.
        let limit = exchanges.isUnderWay(key) ? WaitLimit(sinceJoining: collapseLimit) : .unlimited
        do {
            let (outcome, role) = try await exchanges.join(
                key,
                limit: limit,
                joined: { hasWaited = true },
                { _ in try await self.exchangeNoting(target, found, wishes, others: .awaited) }
            )
            if case .elsewhere = outcome { return nil }
            return role == .started ? .success(outcome) : nil
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return hasWaited || error is WaitLimitReached ? nil : .failure(error)
        }
    }

    /// Asks the server, and notes whether it is worth while to wait for such a request.
    func exchangeNoting(
        _ target: HTTPTarget,
        _ found: Found,
        _ wishes: RequestDirectives,
        others: Others
    ) async throws -> Exchanged {
        let (outcome, isReusable) = try await exchange(target, found, wishes, others: others)
        guard let key = collapsedKey(target, found, wishes) else { return outcome }
        if isReusable {
            uncollapsed.end(key)
            return outcome
        }
        switch outcome {
        // Say nothing of the response.
        case .failed, .elsewhere: break
        case .content, .validated, .reply: uncollapsed.pause(key, for: .seconds(120))
        }
        return outcome
    }
}
