#if HTTP
public import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
public import Strata

/// Fetches by HTTP: the lowest level of a cache of resources.
///
/// ```swift
/// let pages = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(1_000))
///     .compose(HTTPFetcher())
///     .pooled()
/// let page = try await pages.get(HTTPResource("https://example.com/"))
/// ```
///
/// A response lives as long as its header fields say (``HTTPLifetime``). One that must not be stored goes to the caller
/// and no level keeps it. ``HTTPCache`` is the level that also revalidates.
///
/// Cancelling a get aborts the transfer. Redirects are followed as the client is configured: `HTTPClient.shared`
/// follows twenty, and not in circles. A response behind redirects lives no longer than they allow, and is not
/// revalidated: its validators would also match if the redirect led elsewhere by then.
public final class HTTPFetcher: Fetcher {
    /// A resource: a URL with the fields that are sent.
    public typealias Key = HTTPResource
    /// A response with its body.
    public typealias Value = HTTPContent

    /// How resources are fetched.
    public let options: HTTPFetchOptions
    private let client: HTTPClient
    private let hosts: HostLimits
    private let time: CacheClock
    /// Counts the fetches of reads; a cache around this fetcher counts its own.
    private let meter = FetchMeter()

    /// A fetcher.
    ///
    /// - Parameters:
    ///   - client: The shared client of the process by default. If you pass another one, you have to shut it down.
    ///   - options: How resources are fetched.
    public init(_ client: HTTPClient = .shared, options: HTTPFetchOptions = HTTPFetchOptions()) {
        self.client = client
        self.options = options
        hosts = HostLimits(limit: options.perHost)
        time = .current
    }

    /// Fetches a resource.
    ///
    /// - Throws: As ``fetch(_:revalidating:)``.
    public func entry(for key: HTTPResource, _ request: ReadRequest) async throws -> Entry<HTTPContent>? {
        guard request.options.source != .never, request.awaited == nil else { return nil }
        let start = MonotonicInstant.now
        meter.begin(key)
        let outcome: HTTPOutcome
        do {
            outcome = try await request.recorder.inScope { try await fetch(key) }
        } catch {
            meter.end(key, with: error, from: start, isFailure: !Task.isCancelled)
            request.recorder?.failed(error, at: .source, from: start)
            throw error
        }
        let end = MonotonicInstant.now
        meter.end(key, from: start, to: end)
        request.recorder?.step(.fetched, at: .source, from: start, to: end)
        switch outcome {
        case .content(let content), .notModified(let content):
            return content.entry(arrivedAt: time.now(at: end), took: start.duration(to: end))
        case .absent(let lifetime):
            return lifetime.entry(.absent, arrivedAt: time.now(at: end), took: start.duration(to: end))
        }
    }

    /// Asks the server for a resource.
    ///
    /// - Parameters:
    ///   - resource: What to fetch.
    ///   - kept: The response that was fetched before, if there is one: the server need not send it again if it is
    ///     still the newest.
    /// - Returns: The outcome.
    /// - Throws: ``HTTPError``; the errors of async-http-client; `CancellationError`.
    public func fetch(_ resource: HTTPResource, revalidating kept: HTTPContent? = nil) async throws -> HTTPOutcome {
        guard resource.url.hasPrefix("http://") || resource.url.hasPrefix("https://") else {
            throw HTTPError(.invalidURL)
        }
        do {
            // The wait for the host's turn is part of the time: a host that hangs would otherwise have its callers wait
            // in a line.
            return try await withDeadline { [hosts] in
                try await hosts.run(resource.host) { try await self.ask(resource, kept) }
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw Self.typed(error)
        }
    }

    /// Sends a request on as it is, and returns any answer of the server: no redirect is followed, no status is an
    /// error, and no body is decoded, unless the client was passed in and does so.
    package func send(_ request: HTTPCacheRequest) async throws -> HTTPReply {
        let resource = HTTPResource(request.url)
        guard resource.url.hasPrefix("http://") || resource.url.hasPrefix("https://") else {
            throw HTTPError(.invalidURL)
        }
        do {
            return try await withDeadline { [hosts] in
                try await hosts.run(resource.host) { try await self.forward(request) }
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw Self.typed(error)
        }
    }

    private func forward(_ message: HTTPCacheRequest) async throws -> HTTPReply {
        var request = HTTPClientRequest(url: message.url)
        request.method = HTTPMethod(rawValue: message.method)
        for field in message.fields.forwarded.all { request.headers.add(name: field.name, value: field.value) }
        if !message.body.isEmpty { request.body = .bytes(ByteBuffer(bytes: message.body)) }
        let start = MonotonicInstant.now
        let response = try await (client === HTTPClient.shared ? Self.forwarding : client)
            .execute(
                request,
                timeout: .nanoseconds(max(0, options.timeout.saturatedNanoseconds))
            )
        let fields = HTTPFields(response.headers)
        let status = Int(response.status.code)
        let hasBody = message.method != "HEAD" && status != 204 && status != 304
        let declared = hasBody ? fields["content-length"].flatMap { Int($0) } : nil
        let body = try await collect(response, declared: declared)
        // Its age counts from the request, also while the body comes (RFC 9111 §4.2.3).
        var reply = HTTPReply(status: status, fields: fields, body: body, delay: Self.seconds(since: start))
        // A client that was passed in may follow redirects: what they lead to is kept as nothing that it is not.
        reply.isRedirected = response.history.count > 1
        reply.isUnstored = reply.isRedirected
        return reply
    }

    /// The client of the whole process for requests that are sent on: it does not follow redirects, and does not
    /// decode.
    ///
    /// It lives as long as the process, like the shared one.
    private static let forwarding = HTTPClient(
        eventLoopGroup: HTTPClient.defaultEventLoopGroup,
        configuration: HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: .seconds(90), read: .seconds(90)),
            decompression: .disabled
        )
    )

    private func ask(_ resource: HTTPResource, _ kept: HTTPContent?) async throws -> HTTPOutcome {
        var request = HTTPClientRequest(url: resource.url)
        for field in resource.fields where field.count == 2 { request.headers.add(name: field[0], value: field[1]) }
        for condition in kept?.conditions ?? [] {
            request.headers.replaceOrAdd(name: condition.name, value: condition.value)
        }
        let start = MonotonicInstant.now
        let response = try await client.execute(
            request,
            timeout: .nanoseconds(max(0, options.timeout.saturatedNanoseconds))
        )
        let fields = HTTPFields(response.headers)
        let status = Int(response.status.code)
        let redirects = response.history.dropLast().map { HTTPFields($0.responseHead.headers) }
        let lifetime = { (status: Int, fields: HTTPFields) in
            redirects.reduce(self.lifetime(status, fields, resource, start)) { $0.bounded(by: $1, self.options.rules) }
        }
        if status == 304, let kept {
            var reply = HTTPReply(status: status, fields: fields)
            reply.isRedirected = !redirects.isEmpty
            guard kept.isMeant(by: reply) else { return try await ask(resource, nil) }
            let updated = kept.fields.updated(by: fields.handedOn)
            let lifetime = lifetime(kept.status, updated)
            let stored = stored(updated)
            return .notModified(HTTPContent(status: kept.status, fields: stored, body: kept.body, lifetime: lifetime))
        }
        if options.absentStatuses.contains(status) { return .absent(lifetime(status, fields)) }
        guard (200..<300).contains(status) else {
            throw HTTPError(.statusNotOK, status: status, retryAfter: RetryAfter.seconds(fields).map { .seconds($0) })
        }
        let body = try await collect(response, declared: fields["content-length"].flatMap { Int($0) })
        var content = HTTPContent(
            status: status,
            fields: stored(fields),
            body: body,
            lifetime: lifetime(status, fields)
        )
        content.isRedirected = !redirects.isEmpty
        return .content(content)
    }

    /// What levels keep and what a caller gets is one value, so fields that must not be stored are given to neither.
    private func stored(_ fields: HTTPFields) -> HTTPFields {
        let rules = options.rules
        return fields.storable(HTTPLifetime.control(fields, rules), isShared: !rules.storesPrivate)
    }

    /// How long something has taken that began then, in whole seconds.
    private static func seconds(since start: MonotonicInstant) -> Int {
        Int(start.duration(to: .now).components.seconds)
    }

    private func lifetime(
        _ status: Int,
        _ fields: HTTPFields,
        _ resource: HTTPResource,
        _ start: MonotonicInstant
    ) -> HTTPLifetime {
        HTTPLifetime(
            status: status,
            fields: fields,
            isAuthorized: resource.isAuthorized,
            delay: Self.seconds(since: start),
            arrival: HTTPReply.now(),
            rules: options.rules
        )
    }

    /// Leaving early drops the body, which ends the transfer.
    private func collect(_ response: HTTPClientResponse, declared: Int?) async throws -> [UInt8] {
        guard declared ?? 0 <= options.sizeLimit else { throw HTTPError(.tooLarge) }
        var body: [UInt8] = []
        body.reserveCapacity(min(max(0, declared ?? 0), 1 << 20))
        for try await part in response.body {
            guard body.count + part.readableBytes <= options.sizeLimit else { throw HTTPError(.tooLarge) }
            body.append(contentsOf: part.readableBytesView)
        }
        // The length of one that was compressed on its way was another; whether it is whole its decoder has found out.
        let isWhole = body.count >= declared ?? 0 || !response.headers["content-encoding"].isEmpty
        guard isWhole else { throw HTTPError(.invalidResponse) }
        return body
    }

    /// The client's own time limit ends with the header.
    private func withDeadline<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let timeout = max(.zero, options.timeout)
        return try await withThrowingTaskGroup(of: Result.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await body() }
            group.addTask {
                try await Task.pause(for: timeout)
                throw HTTPError(.timeout)
            }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    private static func typed(_ error: any Error) -> any Error {
        switch error {
        case let error as HTTPClientError:
            switch error {
            case .redirectLimitReached, .redirectCycleDetected: HTTPError(.redirectLoop)
            case .deadlineExceeded: HTTPError(.timeout)
            case .remoteConnectionClosed, .bodyLengthMismatch: HTTPError(.invalidResponse)
            case .invalidURL, .emptyHost, .emptyScheme: HTTPError(.invalidURL)
            default: error
            }
        case is HTTPParserError: HTTPError(.invalidResponse)
        default: error
        }
    }

    /// The clock that was current when the fetcher was made.
    public var clock: CacheClock? { time }

    /// `http`, with its limits.
    public var label: LevelLabel {
        LevelLabel(
            "http, at most \(options.perHost) a host, \(options.sizeLimit) bytes, \(options.timeout)",
            counters: meter.counters,
            durations: [meter.durations],
            hubs: [meter.events]
        )
    }
}

extension HTTPFields {
    fileprivate init(_ headers: HTTPHeaders) {
        self.init(headers.lazy.map { (name: $0.name, value: $0.value) })
    }
}

extension HTTPFetcher: AtomicLevel {}

extension HTTPFetcher: HTTPOrigin {
    package var rules: HTTPLifetime.Rules { options.rules }
    package var leavesConditions: Bool { false }
    package var sizeLimit: Int { options.sizeLimit }
    /// None: ``options`` have it.
    package var renewalLimit: Duration? { nil }

    /// Those that do not belong to the connection to the caller.
    package func seen(_ fields: HTTPFields) -> HTTPFields { fields.forwarded }
}
#endif
