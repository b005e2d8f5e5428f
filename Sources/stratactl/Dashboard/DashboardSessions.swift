#if Dashboard
import Strata

/// Controls who may see the dashboard: one token, and the sessions that it has opened.
///
/// Sessions live in memory alone, so they end with the program.
final class DashboardSessions: Sendable {
    /// A person who is logged in.
    struct Session: Sendable, Hashable {
        /// The value of the cookie.
        let number: String
        /// What every form sends along, so that no other site can send it.
        let formToken: String
        let end: MonotonicInstant
    }

    /// The outcome of a login.
    enum Login: Sendable {
        case session(Session)
        case wrong
        /// No attempt is allowed for a while.
        case tooMany
    }

    private struct State: Sendable {
        var sessions: [String: Session] = [:]
        var minute = MonotonicInstant.distantPast
        var failures = 0
    }

    /// How long a session lives.
    static let lifetime = Duration.seconds(12 * 3_600)
    /// How many wrong tokens are looked at in a minute.
    static let mostFailures = 20
    /// The fewest characters of a token.
    static let leastToken = 16
    private static let mostSessions = 64

    /// The token's digest.
    private let token: [UInt8]
    private let clock: CacheClock
    private let state = Locked(State())

    init(token: String, clock: CacheClock = .current) {
        self.token = Self.digest(of: token)
        self.clock = clock
    }

    /// A number that cannot be guessed: 256 bits in hexadecimal digits.
    static func secret() -> String {
        var generator = SystemRandomNumberGenerator()
        return Hexadecimal.text((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    /// Whether a person has the token; counts the wrong ones.
    ///
    /// - Returns: `nil` when there were too many wrong ones to look at it.
    func admits(_ text: String) -> Bool? {
        let now = clock.now
        let isRight = Self.isEqual(Self.digest(of: text), token)
        return state.withLock { state in
            if state.minute.duration(to: now) >= .seconds(60) { (state.minute, state.failures) = (now, 0) }
            guard state.failures < Self.mostFailures else { return nil }
            if !isRight { state.failures += 1 }
            return isRight
        }
    }

    func logIn(_ text: String) -> Login {
        switch admits(text) {
        case nil: return .tooMany
        case false?: return .wrong
        case true?: break
        }
        let session = Session(
            number: Self.secret(),
            formToken: Self.secret(),
            end: clock.now.advanced(by: Self.lifetime)
        )
        state.withLock { state in
            if state.sessions.count >= Self.mostSessions,
                let oldest = state.sessions.values.min(by: { $0.end < $1.end })
            {
                state.sessions[oldest.number] = nil
            }
            state.sessions[session.number] = session
        }
        return .session(session)
    }

    func logOut(_ session: Session) { state.withLock { $0.sessions[session.number] = nil } }

    /// The session of a cookie; `nil` when it has ended.
    func session(_ number: String) -> Session? {
        let now = clock.now
        return state.withLock { state in
            guard let session = state.sessions[number] else { return nil }
            if session.end > now { return session }
            state.sessions[number] = nil
            return nil
        }
    }

    /// Whether a form was sent by a page of this session.
    static func isSent(_ formToken: String, by session: Session) -> Bool {
        isEqual(digest(of: formToken), digest(of: session.formToken))
    }

    private static func digest(of text: String) -> [UInt8] { SHA256.hexadecimal(Array(text.utf8)) }

    /// Takes as long whatever the digests are.
    private static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        zip(one, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
#endif
