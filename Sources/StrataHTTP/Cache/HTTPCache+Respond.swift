internal import Strata

extension HTTPCache {
    /// The response to a whole request: a stored one where the rules of HTTP allow it, otherwise the server's.
    ///
    /// ```swift
    /// let response = try await cache.respond(to: HTTPCacheRequest("https://example.com/", fields: fields))
    /// ```
    ///
    /// | method | what happens |
    /// |---|---|
    /// | GET | a stored response is served, asked about or replaced (RFC 9111 §4), whatever its status |
    /// | HEAD | a stored response to GET is served without its body; else the server is asked |
    /// | OPTIONS, TRACE | the server is asked |
    /// | any other | the server is asked; success forgets the URL, `Location` and `Content-Location` (RFC 9111 §4.4) |
    ///
    /// Conditions (`If-None-Match`, `If-Modified-Since`) and a range of bytes are answered from the stored response.
    /// One response of a URL is kept for each set of values of the fields that `Vary` names. `Cache-Control` of the
    /// request is honoured. Redirects are not followed, and bodies are not decoded: configure a client of your own
    /// accordingly.
    ///
    /// These responses are kept apart from those of calls with a resource, which follow redirects and keep the last
    /// response. An unsafe method removes the value of the resource that has only the URL; ``remove(_:)`` removes
    /// values of resources with fields.
    ///
    /// GETs that miss the same response at the same time wait for one of them, up to ``collapseLimit``, and are
    /// answered with what it has stored; one that finds nothing there asks alone. Requests with `Authorization`,
    /// `Range`, `no-cache` or conditions of their own ask alone, and so do all requests for two minutes after a
    /// response that could not be reused. Where the storage is shared, as memory above Redis is, the GETs of all
    /// instances wait for one of them.
    ///
    /// Interim responses (1xx) and trailers are neither passed on nor stored: the client drops them. The server in
    /// front of the cache answers `Expect: 100-continue` itself.
    ///
    /// One round trip to the storage for a stored response, two for one that varies, and as many again after a wait.
    /// One more asks a shared storage for the right to fill it, before the server is asked. Cancelling aborts the
    /// transfer, unless others wait for it.
    ///
    /// - Throws: ``HTTPError`` but for a status; the errors of async-http-client; `CancellationError`. A server that
    ///   cannot be reached is no error if a stale response may be served.
    public func respond(to request: HTTPCacheRequest) async throws -> HTTPCacheResponse {
        var request = request
        // What the server does not see must not tell responses apart.
        request.fields = origin.seen(request.fields)
        switch request.method {
        case "GET", "HEAD": return try await read(request)
        case "OPTIONS", "TRACE": return try await pass(request)
        default: return try await change(request)
        }
    }

    private func read(_ request: HTTPCacheRequest) async throws -> HTTPCacheResponse {
        let wishes = RequestDirectives(request.fields)
        // What a body asks for is in no key (RFC 9110 §9.3.1).
        guard !wishes.isNotStored, request.body.isEmpty else { return try await pass(request) }
        let target = HTTPTarget(request)
        let found = try await look(for: target)
        if let response = answer(target, found, wishes) { return response }
        guard !wishes.onlyIfCached else { return HTTPCacheResponse(status: 504, source: .none) }
        do {
            let response =
                request.method == "HEAD" ? try await head(target, found) : try await ask(target, found, wishes)
            let isAsked = response.source != .stale && response.source != .stored
            if isAsked { counted.withLock { $0.misses += 1 } }
            return response
        } catch {
            if !Task.isCancelled { counted.withLock { $0.misses += 1 } }
            throw error
        }
    }

    /// What is kept of the URL; a part that does not answer the request is put aside.
    private func look(for target: HTTPTarget) async throws -> Found {
        var found = try await find(target)
        if let content = found.entry?.value, !HTTPAnswer.isPossible(content, for: target.request) {
            found.part = content
            found.entry = nil
        }
        return found
    }

    /// The response that is kept, where this request may have it; `nil` if the server is to be asked.
    private func answer(_ target: HTTPTarget, _ found: Found, _ wishes: RequestDirectives) -> HTTPCacheResponse? {
        guard let entry = found.entry, let content = entry.value else { return nil }
        let request = target.request
        switch wishes.use(content.lifetime, age: entry.httpAge(at: time.now), left: entry.left(at: time.now)) {
        case .serve:
            counted.withLock { $0.hits += 1 }
            return stored(request, entry, content, .stored)
        case .serveStale: return stale(request, entry, content)
        // What answers HEAD may not know how to answer GET.
        case .serveAndValidate
        where request.method == "GET"
            && refreshes.add(HTTPRefresh(key: found.key, target: HTTPTarget(request.whole))):
            return stale(request, entry, content)
        case .serveAndValidate, .validate: return nil
        }
    }

    /// Asks the server, or waits for the same request that is under way (RFC 9111 §4).
    private func ask(
        _ target: HTTPTarget,
        _ found: Found,
        _ wishes: RequestDirectives
    ) async throws -> HTTPCacheResponse {
        let start = time.now
        var found = found
        var awaited: HTTPResource?
        // Another time it may be known by which fields responses vary, and there is another request to wait for.
        for _ in 0..<3 {
            guard let key = collapsedKey(target, found, wishes), key != awaited, !isUncollapsed(key, target) else {
                break
            }
            switch try await collapsed(key, target, found, wishes, since: start) {
            case .own(let outcome): return try response(to: target, found, wishes, outcome)
            case .other(let saysNothing): awaited = saysNothing ? nil : key
            }
            found = try await look(for: target)
            if let response = answer(target, found, wishes) {
                counted.withLock { $0.collapsed += 1 }
                return response
            }
        }
        let outcome = await Result { try await exchangeNoting(target, found, wishes, others: .beside).outcome }
        return try response(to: target, found, wishes, outcome)
    }

    private func response(
        to target: HTTPTarget,
        _ found: Found,
        _ wishes: RequestDirectives,
        _ outcome: Result<Exchanged, any Error>
    ) throws -> HTTPCacheResponse {
        let exchanged: Exchanged
        do { exchanged = try outcome.get() } catch {
            guard let entry = found.entry, let content = entry.value, Self.allowsStale(error),
                wishes.allowsFallback(
                    content.lifetime,
                    left: entry.left(at: time.now),
                    isUnreachable: servesStaleWhenUnreachable
                )
            else { throw error }
            return stale(target.request, entry, content)
        }
        switch exchanged {
        case .content(let content):
            let age = content.lifetime.age > 0 ? content.lifetime.age : nil
            return HTTPAnswer.response(to: target.request, with: content, age: age, from: .server)
        case .validated(let content):
            let age = content.lifetime.age > 0 ? content.lifetime.age : nil
            return HTTPAnswer.response(to: target.request, with: content, age: age, from: .validated)
        case .reply(let reply): return Self.passed(reply)
        // A caller that asks alone never gets `elsewhere`.
        case .failed, .elsewhere:
            guard let entry = found.entry, let content = entry.value else {
                return HTTPCacheResponse(status: 504, source: .none)
            }
            return stale(target.request, entry, content)
        }
    }

    /// Asks for the header alone; what it says of a stored response is heeded (RFC 9111 §4.3.5).
    private func head(_ target: HTTPTarget, _ found: Found) async throws -> HTTPCacheResponse {
        let reply = try await send(target.request)
        if reply.status == 200, let content = found.entry?.value ?? found.part, content.isContradicted(by: reply),
            !concernsCaller(content, reply, target)
        {
            await forget(found.key, of: target.base)
        }
        return Self.passed(reply)
    }

    /// Whether what answers a HEAD says nothing of what is kept for all: it may not be kept, for its caller's login or
    /// cookies alone.
    private func concernsCaller(_ content: HTTPContent, _ reply: HTTPReply, _ target: HTTPTarget) -> Bool {
        if reply.isForCaller { return true }
        let lifetime = HTTPLifetime(
            status: reply.status,
            fields: reply.fields,
            isAuthorized: target.request.isAuthorized,
            rules: origin.rules
        )
        return !lifetime.isStorable && isForCaller(content, reply, target)
    }

    private func pass(_ request: HTTPCacheRequest) async throws -> HTTPCacheResponse {
        let reply = try await send(request)
        return Self.passed(reply)
    }

    /// RFC 9111 §4.4: a method that may change something, or one that is not known.
    private func change(_ request: HTTPCacheRequest) async throws -> HTTPCacheResponse {
        let reply: HTTPReply
        do { reply = try await send(request) } catch {
            // It may have been done.
            await forget(request.url)
            throw error
        }
        guard (200..<400).contains(reply.status) else { return Self.passed(reply) }
        await forget(request.url)
        var described: String?
        for name in ["location", "content-location"] {
            guard let url = reply.fields[name].flatMap({ HTTPReference.resolved($0, from: request.url) }),
                HTTPReference.haveSameOrigin(url, request.url)
            else { continue }
            if name == "content-location" { described = url }
            if url != request.url { await forget(url) }
        }
        // RFC 9110 §9.3.3: what the server has called the new state of the URL.
        if request.method == "POST", reply.status == 200, described == request.url, !reply.isUnstored {
            await keep(reply, of: request)
        }
        return Self.passed(reply)
    }

    // MARK: Making responses

    private func stored(
        _ request: HTTPCacheRequest,
        _ entry: Entry<HTTPContent>,
        _ content: HTTPContent,
        _ source: HTTPCacheResponse.Source
    ) -> HTTPCacheResponse {
        HTTPAnswer.response(to: request, with: content, age: entry.httpAge(at: time.now), from: source)
    }

    private func stale(
        _ request: HTTPCacheRequest,
        _ entry: Entry<HTTPContent>,
        _ content: HTTPContent
    ) -> HTTPCacheResponse {
        counted.withLock { $0.servedStale += 1 }
        return stored(request, entry, content, .stale)
    }

    private static func passed(_ reply: HTTPReply) -> HTTPCacheResponse {
        HTTPCacheResponse(status: reply.status, fields: reply.handedOn, body: reply.body, source: .server)
    }
}

extension Entry<HTTPContent> {
    /// How old the response is, in seconds (RFC 9111 §4.2.3).
    func httpAge(at now: MonotonicInstant) -> Int {
        guard let lifetime = value?.lifetime else { return 0 }
        let since =
            storedAt == .distantPast
            ? .seconds(lifetime.freshFor - lifetime.staleFor) - left(at: now) : storedAt.duration(to: now)
        return lifetime.age + max(0, Int(since.components.seconds))
    }

    /// How long it is fresh yet; negative when it is stale.
    func left(at now: MonotonicInstant) -> Duration { now.duration(to: freshUntil) }
}
