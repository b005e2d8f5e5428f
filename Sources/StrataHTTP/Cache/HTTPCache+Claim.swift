internal import Strata

extension HTTPCache {
    /// What is done when another process that shares the storage is asking for the same response.
    enum Others {
        /// It is waited for, and the storage is looked into again.
        case awaited
        /// The response is left to it: no caller waits for this one.
        case left
        /// The server is asked, too.
        case beside
    }

    /// The rights to keep a response, taken before the server is asked.
    struct Claim {
        /// To keep it as the only one of its URL, or the list of those that vary.
        var base: FillRights
        /// Where it will be kept, unless it varies by other fields than the last one.
        var key: HTTPResource
        var own: FillRights
    }

    /// Takes the rights to keep the response to a request, up to ``collapseLimit`` after another process that has them.
    ///
    /// - Returns: The rights; `nil` when another process has asked, or is asking, in place of this one.
    /// - Throws: `CancellationError`.
    func claim(_ target: HTTPTarget, _ found: Found, _ others: Others) async throws -> Claim? {
        let giveUp = time.running.advanced(by: collapseLimit)
        var pause = Duration.milliseconds(5)
        while true {
            let claim = await rights(target, likelyKey(target, found))
            guard others != .beside else { return claim }
            if let holder = claim.own.holder {
                guard others == .awaited else { return nil }
                guard time.running < giveUp else { return claim }
                if try await holder.ended(by: giveUp, pause: pause) { return nil }
                pause = min(pause * 2, .milliseconds(100))
                continue
            }
            guard claim.own.haveSeenOther(than: found.version) else { return claim }
            // It may have been stored since the look; or the stored one is void.
            return try await find(target).version == found.version ? claim : nil
        }
    }

    /// The rights to fill what is kept of a URL, and the key for a request; a response that is not kept takes none.
    func rights(_ target: HTTPTarget, _ key: HTTPResource) async -> Claim {
        guard !target.base.isTooLong else { return Claim(base: FillRights(), key: key, own: FillRights()) }
        guard key != target.base else {
            let base = await storage.rights(toFill: [key])
            return Claim(base: base, key: key, own: base)
        }
        guard !key.isTooLong else {
            return Claim(base: await storage.rights(toFill: [target.base]), key: key, own: FillRights())
        }
        let (base, own) = await concurrently { [storage] in
            await storage.rights(toFill: [target.base])
        } and: {
            await storage.rights(toFill: [key])
        }
        return Claim(base: base, key: key, own: own)
    }
}
