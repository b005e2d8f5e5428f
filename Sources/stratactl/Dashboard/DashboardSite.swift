#if Dashboard
import HTTPTypes
import Hummingbird
import Logging
import Strata
import StrataRedis

/// The dashboard: pages over what the commands of this program know.
struct DashboardSite: Sendable {
    /// How it is to be served.
    struct Settings: Sendable {
        var prefix = PrefixOption.byDefault
        /// Whether keys can be removed.
        var removes = false
        /// How long it waits between two samples of a keyspace.
        var interval = Duration.seconds(2)
    }

    /// How many pages with live figures may be open at a time.
    private static let mostStreams = 16

    private let redis: RedisClient
    private let sessions: DashboardSessions
    private let settings: Settings
    private let streams: StreamSlots

    init(_ redis: RedisClient, _ sessions: DashboardSessions, _ settings: Settings) {
        self.redis = redis
        self.sessions = sessions
        self.settings = settings
        streams = StreamSlots(Self.mostStreams)
    }

    var router: Router<DashboardContext> {
        let router = Router(context: DashboardContext.self)
        router.add(middleware: DashboardShell())
        DashboardAssets.add(to: router)
        router.get("login") { _, _ in DashboardPage.show("login", "Log in", for: nil) }
        router.post("login") { request, context in try await logIn(request, context) }
        let inside = router.group().add(middleware: DashboardDoor(sessions: sessions))
        inside.post("logout") { request, context in try await logOut(request, context) }
        inside.get { _, context in try await keyspaces(context) }
        inside.get("keyspace") { request, context in try await keyspace(request, context) }
        inside.get("stream") { request, context in try stream(request, context) }
        inside.get("why") { request, context in try await why(request, context) }
        inside.get("doctor") { request, context in try await doctor(request, context) }
        guard settings.removes else { return router }
        inside.get("remove") { request, context in try await confirm(request, context) }
        inside.post("remove") { request, context in try await remove(request, context) }
        return router
    }

    // MARK: Login

    private struct LoginForm: Decodable {
        let token: String
    }

    private struct Form: Decodable {
        let csrf: String
        var name: String?
        var key: String?
        var token: String?
    }

    private func form<Content: Decodable>(
        _ type: Content.Type,
        _ request: Request,
        _ context: DashboardContext
    ) async throws -> Content {
        try DashboardDoor.checkOrigin(of: request)
        let body = try await request.body.collect(upTo: context.maxUploadSize)
        do {
            return try URLEncodedFormDecoder().decode(type, from: String(buffer: body))
        } catch is DecodingError {
            throw HTTPError(.badRequest)
        }
    }

    /// A form that a page of this session has sent.
    private func ownForm(_ request: Request, _ context: DashboardContext) async throws -> Form {
        let form = try await form(Form.self, request, context)
        guard let session = context.session, DashboardSessions.isSent(form.csrf, by: session) else {
            throw HTTPError(.forbidden)
        }
        return form
    }

    private func logIn(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let form = try await form(LoginForm.self, request, context)
        switch sessions.logIn(form.token) {
        case .session(let session):
            var response = Response.redirect(to: "/", type: .normal)
            response.setCookie(
                Cookie(
                    name: DashboardDoor.cookie,
                    value: session.number,
                    path: "/",
                    secure: false,
                    httpOnly: true,
                    sameSite: .strict
                )
            )
            return response
        case .wrong:
            return DashboardPage.show(
                "login",
                "Log in",
                for: nil,
                ["trouble": "That is not the token."],
                status: .unauthorized
            )
        case .tooMany:
            return DashboardPage.show(
                "login",
                "Log in",
                for: nil,
                ["trouble": "Too many wrong tokens. Wait a minute."],
                status: .tooManyRequests
            )
        }
    }

    private func logOut(_ request: Request, _ context: DashboardContext) async throws -> Response {
        _ = try await ownForm(request, context)
        if let session = context.session { sessions.logOut(session) }
        return .redirect(to: "/login", type: .normal)
    }

    // MARK: Looking

    private func keyspaces(_ context: DashboardContext) async throws -> Response {
        let survey = try await KeyspaceSurvey.take(redis, prefix: settings.prefix, samples: 16)
        let rows = survey.rows.map { row -> [String: Any] in
            let name = PrintableText.escape(Array(row.keyspace.name.utf8))
            return [
                "name": name, "link": DashboardPage.link(name), "values": row.counts.values,
                "leases": row.counts.leases, "bytes": row.estimatedBytes.map { Quantity.bytes($0) } ?? "-",
            ]
        }
        return DashboardPage.show(
            "keyspaces",
            "Keyspaces",
            for: context.session,
            ["place": redis.configuration.place, "prefix": settings.prefix, "rows": rows]
        )
    }

    /// The keyspace that a request names.
    private func space(_ name: String?) throws -> (keyspace: Keyspace, name: String, link: String) {
        guard let name, !name.isEmpty else { throw Failure(.usage, "no keyspace is named") }
        let keyspace = try KeyspaceOptions.keyspace(name, prefix: settings.prefix, escaped: true)
        return (keyspace, name, DashboardPage.link(name))
    }

    private func key(_ text: String?, in keyspace: Keyspace) throws -> InspectedKey {
        guard let text, let key = InspectedKey(escaped: text, in: keyspace) else {
            throw Failure(.usage, "the key is missing, or has an invalid backslash escape")
        }
        return key
    }

    private func keyspace(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let (keyspace, name, link) = try space(request.value("name"))
        try await KeyspaceInspector(redis, keyspace).checkPresence()
        return DashboardPage.show(
            "keyspace",
            name,
            for: context.session,
            ["name": name, "link": link, "verifies": request.value("verify") == "1"]
        )
    }

    private func stream(_ request: Request, _ context: DashboardContext) throws -> Response {
        guard let session = context.session else { throw HTTPError(.unauthorized) }
        let keyspace = try space(request.value("name")).keyspace
        guard let slot = streams.take() else { throw HTTPError(.serviceUnavailable) }
        let stream = DashboardStream(
            redis: redis,
            keyspace: keyspace,
            interval: settings.interval,
            verifies: request.value("verify") == "1",
            isAllowed: { [sessions] in sessions.session(session.number) != nil }
        )
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream"],
            body: ResponseBody { writer in
                defer { slot.release() }
                try await stream.write(to: &writer)
                try await writer.finish(nil)
            }
        )
    }

    private func why(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let (keyspace, name, link) = try space(request.value("name"))
        let key = try key(request.value("key"), in: keyspace)
        let found = try await KeyspaceInspector(redis, keyspace).explanation(of: key)
        let memory = try await MemoryFindings.take(redis, keyspace, key, within: .seconds(1))
        var fields: [[String: Any]] = []
        for field in ExplanationLines(found, ReadVerdict(found), memory).fields.fields {
            if field.name.isEmpty, var last = fields.popLast(), let lines = last["lines"] as? [String] {
                last["lines"] = lines + [field.value]
                fields.append(last)
            } else {
                fields.append(["name": field.name, "lines": [field.value]])
            }
        }
        return DashboardPage.show(
            "why",
            key.escaped,
            for: context.session,
            [
                "name": name, "link": link, "keyLink": DashboardPage.link(key.escaped), "fields": fields,
                "removes": settings.removes,
            ]
        )
    }

    private func doctor(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let keyspace = try request.value("name").map { try space($0).keyspace }
        let facts = try await CacheFacts.take(
            redis,
            keyspace: keyspace,
            prefix: settings.prefix,
            purpose: nil,
            samples: 10
        )
        let diagnosis = Diagnosis(facts)
        let findings = diagnosis.findings.map { finding -> [String: Any] in
            var content: [String: Any] = [
                "severity": finding.severity.rawValue, "check": finding.check, "line": finding.line,
            ]
            if let advice = finding.advice { content["advice"] = advice }
            return content
        }
        return DashboardPage.show(
            "doctor",
            "Doctor",
            for: context.session,
            [
                "place": redis.configuration.place, "summary": Quantity.text(diagnosis.warnings, "warning"),
                "findings": findings,
            ]
        )
    }

    // MARK: Removal

    private func confirm(_ request: Request, _ context: DashboardContext) async throws -> Response {
        try await confirmation(request.value("name"), request.value("key"), context)
    }

    private func confirmation(
        _ name: String?,
        _ keyText: String?,
        _ context: DashboardContext,
        trouble: String? = nil
    ) async throws -> Response {
        let (keyspace, name, link) = try space(name)
        let key = try key(keyText, in: keyspace)
        let presence = try await KeyspaceInspector(redis, keyspace).presence(of: [key]).first
        var content: [String: Any] = [
            "name": name, "link": link, "key": key.escaped, "keyLink": DashboardPage.link(key.escaped),
            "presence": presence?.value == true ? "Redis has a value for it." : "Redis has no value for it.",
        ]
        if let trouble { content["trouble"] = trouble }
        return DashboardPage.show(
            "remove",
            "Remove a key",
            for: context.session,
            content,
            status: trouble == nil ? .ok : .forbidden
        )
    }

    private func remove(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let form = try await ownForm(request, context)
        let (keyspace, name, link) = try space(form.name)
        let key = try key(form.key, in: keyspace)
        switch sessions.admits(form.token ?? "") {
        case true?: break
        case false?: return try await confirmation(name, form.key, context, trouble: "That is not the token.")
        case nil:
            return try await confirmation(name, form.key, context, trouble: "Too many wrong tokens. Wait a minute.")
        }
        let removed = try await KeyspaceInspector(redis, keyspace).remove([key])
        context.logger.notice("a key was removed by the dashboard")
        return DashboardPage.show(
            "removed",
            "Removed",
            for: context.session,
            [
                "text": removed == 0
                    ? "There was nothing in Redis; the instances were notified all the same." : "It is removed.",
                "link": link, "keyLink": DashboardPage.link(key.escaped),
            ]
        )
    }
}

extension Request {
    /// A value of the query, decoded as forms encode it.
    fileprivate func value(_ name: String) -> String? {
        (try? URLEncodedFormDecoder().decode([String: String].self, from: uri.query ?? ""))?[name]
    }
}

/// The streams that may be open at a time.
final class StreamSlots: Sendable {
    /// A slot that is taken until it is released, or forgotten.
    final class Slot: Sendable {
        private let slots: StreamSlots
        private let isTaken = Locked(true)

        fileprivate init(_ slots: StreamSlots) { self.slots = slots }

        func release() {
            let wasTaken = isTaken.withLock { taken in
                defer { taken = false }
                return taken
            }
            if wasTaken { slots.free.withLock { $0 += 1 } }
        }

        deinit { release() }
    }

    fileprivate let free: Locked<Int>

    init(_ count: Int) { free = Locked(count) }

    func take() -> Slot? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Slot(self) : nil
    }
}
#endif
