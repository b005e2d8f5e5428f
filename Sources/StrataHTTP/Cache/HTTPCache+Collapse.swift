internal import Strata

/// Collapsed requests (RFC 9111 §4): of GETs that miss the same response at once, one goes on to the server.
///
/// No caller is handed another's response: a caller that has waited looks into the storage again, and the rules for
/// stored responses decide there. So one caller's credentials, failure or forgotten response never becomes another's.
extension HTTPCache {
    /// The outcome of a request that others may have waited for.
    struct Landed: Sendable {
        var outcome: Exchanged
        var reuse: Reuse
        /// Whether its caller has sent cookies.
        var hasCookies: Bool
    }

    /// What a request has come to that was made for all who ask the same.
    enum Collapse {
        /// It was this caller's.
        case own(Result<Exchanged, any Error>)
        /// It was another's: look into the storage; whether it says nothing about the outcome of the next one.
        case other(saysNothing: Bool)
    }

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

    /// Whether requests like this one do not wait, because what came last could not be reused: waiting would only make
    /// them slower.
    func isUncollapsed(_ key: HTTPResource, _ target: HTTPTarget) -> Bool {
        collapseLimit <= .zero || uncollapsed.left(for: Uncollapsed(key, target), at: time.now) != nil
    }

    /// Asks the server for all that ask the same.
    func collapsed(
        _ key: HTTPResource,
        _ target: HTTPTarget,
        _ found: Found,
        _ wishes: RequestDirectives,
        since start: MonotonicInstant
    ) async throws -> Collapse {
        var hasWaited = false
        // The caller that asks the server waits as long as the fetcher does.
        let left = max(.zero, collapseLimit - start.duration(to: time.now))
        let limit = exchanges.isUnderWay(key) ? WaitLimit(sinceJoining: left) : .unlimited
        do {
            let (landed, role) = try await exchanges.join(
                key,
                limit: limit,
                joined: { hasWaited = true },
                { _ in try await self.exchangeNoting(target, found, wishes, others: .awaited) }
            )
            if case .elsewhere = landed.outcome { return .other(saysNothing: false) }
            if case .failed = landed.outcome, role != .started { return .other(saysNothing: false) }
            guard role != .started else { return .own(.success(landed.outcome)) }
            // What was for a caller with cookies alone may be for all without them.
            let isOfOther = landed.reuse == .none && landed.hasCookies != target.hasCookies
            return .other(saysNothing: isOfOther || landed.reuse == .unknown)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return hasWaited || error is WaitLimitReached ? .other(saysNothing: false) : .own(.failure(error))
        }
    }

    /// Asks the server, and notes whether it is worth while to wait for such a request.
    func exchangeNoting(
        _ target: HTTPTarget,
        _ found: Found,
        _ wishes: RequestDirectives,
        others: Others
    ) async throws -> Landed {
        let (outcome, reuse) = try await exchange(target, found, wishes, others: others)
        if let key = collapsedKey(target, found, wishes) {
            switch reuse {
            case .all:
                for hasCookies in [false, true] { uncollapsed.end(Uncollapsed(key: key, hasCookies: hasCookies)) }
            case .none: uncollapsed.pause(Uncollapsed(key, target), for: .seconds(120))
            case .unknown: break
            }
        }
        return Landed(outcome: outcome, reuse: reuse, hasCookies: target.hasCookies)
    }
}

/// What requests are alike that do not wait for each other.
struct Uncollapsed: Sendable, Hashable {
    var key: HTTPResource
    /// A handler's response to a request with cookies may be for its caller alone, where that to others is for all.
    var hasCookies: Bool
}

extension Uncollapsed {
    init(_ key: HTTPResource, _ target: HTTPTarget) {
        self.init(key: key, hasCookies: target.hasCookies)
    }
}
