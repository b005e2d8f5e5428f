internal import Strata

extension HTTPCache {
    /// What is kept of a URL for a request.
    struct Found: Sendable {
        /// The key under which the response is kept, or would be were it the only one.
        var key: HTTPResource
        /// The response; `nil` for none that the request is answered with.
        var entry: Entry<HTTPContent>?
        /// A part of the bytes, which does not answer the request.
        var part: HTTPContent?
        /// Where responses vary: what is kept of the URL, and until when.
        var variants: HTTPVariants?
        var variantsEnd = MonotonicInstant.distantPast
        /// The tags of the list of variants, which have to be those of all of them.
        var variantsTags: [String] = []
        /// The write that the response comes from; `nil` if there is none.
        var version: EntryVersion?
    }

    /// What asking the server has come to.
    enum Exchanged: Sendable {
        /// A new response, of which the caller's conditions and range are to be looked at.
        case content(HTTPContent)
        /// The stored one is still the newest.
        case validated(HTTPContent)
        /// What the server has said to the caller's own words.
        case reply(HTTPReply)
        /// The server has failed, and the stored one may stand in.
        case failed
        /// Another process has asked in place of this one: look at the storage again.
        case elsewhere
    }

    /// Which callers may be answered with the stored response.
    enum Reuse: Sendable {
        /// Any caller that sends the same request.
        case all
        /// No other caller: it is not kept, or not fresh.
        case none
        /// That is not known: it was overtaken by an invalidation, or another has asked.
        case unknown
    }

    func find(_ target: HTTPTarget) async throws -> Found {
        let base = try await found(target.base, ReadRequest())
        guard let variants = base?.value?.variants else {
            let entry = base?.value == nil ? nil : base
            return Found(key: target.base, entry: entry, version: entry?.version)
        }
        var result = Found(key: target.base)
        result.variants = variants
        result.variantsEnd = base?.freshUntil ?? .distantPast
        result.variantsTags = base?.tags ?? []
        for names in variants.names {
            let key = target.key(variants, names)
            guard !key.isTooLong, let entry = try await found(key, ReadRequest()), entry.value != nil else { continue }
            result.key = key
            result.entry = entry
            result.version = entry.version
            break
        }
        return result
    }

    /// Asks the server by GET, and keeps what it says.
    ///
    /// - Returns: What it says, and whether other requests are answered with what was kept.
    func exchange(
        _ target: HTTPTarget,
        _ found: Found,
        _ wishes: RequestDirectives = RequestDirectives([:]),
        others: Others
    ) async throws -> (outcome: Exchanged, reuse: Reuse) {
        var kept = found.entry?.value
        let conditions = kept?.conditions ?? []
        let mark = forgotten.begin(target.base)
        defer { forgotten.end(target.base) }
        guard let rights = try await claim(target, found, others) else { return (.elsewhere, .unknown) }
        var start = time.now
        let isRenewal = others == .left
        var reply = try await send(target.request.asking(conditions), isRenewal: isRenewal)
        if reply.status == 304, let content = kept, !conditions.isEmpty, !content.isMeant(by: reply) {
            kept = nil
            start = time.now
            reply = try await send(target.request.whole, isRenewal: isRenewal)
        }
        let now = time.now
        let took = start.duration(to: now)
        if reply.status == 304, let content = kept, !conditions.isEmpty {
            counted.withLock { $0.notModified += 1 }
            let fields = content.fields.updated(by: reply.handedOn)
            var updated = self.content(content.status, fields, content.body, reply, target)
            if reply.tags.isEmpty { reply.tags = found.entry?.tags ?? [] }
            let reuse = await keep(updated, reply, target, found, rights, mark, arrivedAt: now, took: took)
            updated.fields = fields
            return (.validated(updated), reuse)
        }
        if reply.isFailure, let entry = found.entry, let lifetime = kept?.lifetime,
            wishes.allowsFallback(lifetime, left: entry.left(at: now), isUnreachable: false)
        {
            return (.failed, .unknown)
        }
        let whole = content(reply.status, reply.handedOn, reply.body, reply, target)
        // That the caller's own copy is current says nothing of what others would be answered.
        var reuse: Reuse = reply.status == 304 ? .unknown : .none
        let isPart = [206, 304, 412, 416].contains(reply.status)
        // A part takes the place of nothing, or of another part.
        if !isPart || reply.status == 206 && found.entry?.value?.status ?? 206 == 206 {
            let part = reply.status == 206 ? found.part : nil
            let joined = part.flatMap { whole.joined(with: $0, upTo: origin.sizeLimit) } ?? whole
            reuse = await keep(joined, reply, target, found, rights, mark, arrivedAt: now, took: took)
        }
        if isPart || conditions.isEmpty { return (.reply(reply), reuse) }
        var handedOn = whole
        handedOn.fields = reply.handedOn
        return (.content(handedOn), reuse)
    }

    /// Keeps the response to a POST as one to GET.
    func keep(_ reply: HTTPReply, of request: HTTPCacheRequest) async {
        var request = request
        request.method = "GET"
        let target = HTTPTarget(request)
        let mark = forgotten.begin(target.base)
        defer { forgotten.end(target.base) }
        let content = content(reply.status, reply.handedOn, reply.body, reply, target)
        guard content.lifetime.freshFor > 0, HTTPLifetime.isExplicit(reply.fields, origin.rules) else {
            return
        }
        let claim = await rights(target, target.base)
        let found = Found(key: target.base)
        _ = await keep(content, reply, target, found, claim, mark, arrivedAt: time.now, took: .zero)
    }

    /// Forgets what is kept of a URL.
    func forget(_ url: String) async {
        for key in [HTTPResource(exchangeAt: url), HTTPResource(url)] { await forget(key, of: key) }
    }

    func forget(_ key: HTTPResource, of base: HTTPResource) async {
        forgotten.forget(base)
        await removeOutdated(key)
    }

    /// What is kept of a response: its lifetime goes by all its fields, and some of them are left out.
    private func content(
        _ status: Int,
        _ fields: HTTPFields,
        _ body: [UInt8],
        _ reply: HTTPReply,
        _ target: HTTPTarget
    ) -> HTTPContent {
        let rules = origin.rules
        var lifetime = HTTPLifetime(
            status: status,
            fields: fields,
            isAuthorized: target.request.isAuthorized,
            delay: reply.delay,
            arrival: reply.arrival,
            rules: rules
        )
        if reply.isUnstored { lifetime = HTTPLifetime(isStorable: false, age: lifetime.age) }
        // A server that does not say that a response is good for others for a while has hardly meant its cookies for
        // them.
        let isForOthers = lifetime.freshFor > 0 && HTTPLifetime.isExplicit(fields, rules)
        let stored = fields.storable(HTTPLifetime.control(fields, rules), isShared: !rules.storesPrivate)
            .without(reply.callersFields.union(isForOthers || rules.storesPrivate ? [] : ["set-cookie"]))
        return HTTPContent(status: status, fields: stored, body: body, lifetime: lifetime)
    }

    // MARK: Keeping

    /// Whether nothing but the caller's login or cookies keeps a response from being stored.
    func isForCaller(_ content: HTTPContent, _ reply: HTTPReply, _ target: HTTPTarget) -> Bool {
        if reply.isForCaller { return true }
        guard target.request.isAuthorized, !reply.isUnstored else { return false }
        // What a server has only confirmed is judged by what it has confirmed.
        let fields = reply.status == 304 ? content.fields : reply.fields
        return HTTPLifetime(status: content.status, fields: fields, rules: origin.rules).isStorable
    }

    /// - Returns: Whether it was kept, and is fresh.
    private func keep(
        _ content: HTTPContent,
        _ reply: HTTPReply,
        _ target: HTTPTarget,
        _ found: Found,
        _ claim: Claim,
        _ mark: Int,
        arrivedAt now: MonotonicInstant,
        took: Duration
    ) async -> Reuse {
        let lifetime = content.lifetime
        guard lifetime.isStorable, content.status != 206 || HTTPPart(content.fields, body: content.body.count) != nil
        else {
            // A failure leaves the stored response as it is, and so does a response for its caller alone; anything else
            // replaces it.
            if found.entry != nil, content.status < 500, !isForCaller(content, reply, target) {
                await forget(found.key, of: target.base)
            }
            return .none
        }
        let windows = max(lifetime.staleWhileRevalidate, lifetime.staleIfError)
        guard lifetime.freshFor > 0 || windows > 0 || !content.conditions.isEmpty else {
            if found.entry != nil, content.status < 500 { await forget(found.key, of: target.base) }
            return .none
        }
        guard !target.base.isTooLong, !forgotten.isForgotten(target.base, since: mark) else { return .unknown }
        var entry = content.entry(arrivedAt: now, took: took)
        entry.tags = reply.tags
        entry.staleUntil = max(now, entry.freshUntil).advanced(by: max(.seconds(windows), keptFor))
        do {
            if case .fields(let names) = HTTPVary(content.fields), !names.isEmpty {
                try await keep(entry, by: names, target, found, claim)
            } else {
                entry.rights = claim.base
                try await storage.store(entry, for: target.base)
            }
            if forgotten.isForgotten(target.base, since: mark) {
                await removeOutdated(target.base)
                return .unknown
            }
            return lifetime.freshFor > 0 ? .all : .none
        } catch {
            counted.withLock { $0.failures += 1 }
            return .none
        }
    }

    /// Keeps one of several responses of a URL, and their list where that does not name it yet.
    ///
    /// First the response, then the list: a caller that waits for the list finds the response, too. No read finds what
    /// is kept below a list that was forgotten or that a tag has voided; so its right may be as late as this.
    private func keep(
        _ entry: Entry<HTTPContent>,
        by names: [String],
        _ target: HTTPTarget,
        _ found: Found,
        _ claim: Claim
    ) async throws {
        var variants = found.variants ?? HTTPVariants()
        let lacksTags = !Set(entry.tags).isSubset(of: found.variantsTags)
        let isListed = variants.names.first == names && found.variantsEnd >= entry.staleUntil && !lacksTags
        var tags = Array(Set(found.variantsTags).union(entry.tags))
        if tags.count > TagLimits.tagsPerEntry { (variants, tags) = (HTTPVariants(), entry.tags) }
        variants.add(names)
        var kept = entry
        let key = target.key(variants, names)
        guard !key.isTooLong else { return }
        kept.rights = key == claim.key ? claim.own : await storage.rights(toFill: [key])
        try await storage.store(kept, for: key)
        guard !isListed else { return }
        var list = Self.list(variants, of: entry, claim.base)
        list.tags = tags
        try await storage.store(list, for: target.base)
    }

    /// The list lives twice as long as the response, so that not every response has to write it anew.
    private static func list(
        _ variants: HTTPVariants,
        of entry: Entry<HTTPContent>,
        _ rights: FillRights
    ) -> Entry<HTTPContent> {
        var list = entry
        list.content = .value(HTTPContent(variants))
        // Not for ever, which a level would take for no lifetime at all.
        let more = min(entry.storedAt.duration(to: entry.staleUntil), EntryLifetime.longest)
        list.freshUntil = min(entry.staleUntil, entry.storedAt.advanced(by: EntryLifetime.longest)).advanced(by: more)
        list.staleUntil = list.freshUntil
        list.rights = rights
        return list
    }
}
