import Strata
import StrataTestSupport
import Synchronization

@testable import StrataRedis

/// A source whose answer a test sets.
final class Vault: Sendable {
    private let answer = Locked<Result<RedisCredentials, RedisError>>(
        .success(RedisCredentials(username: "one", password: Secret("1")))
    )
    let asked = Atomic<Int>(0)

    func set(_ username: String, _ password: String) {
        answer.withLock { $0 = .success(RedisCredentials(username: username, password: Secret(password))) }
    }

    func fail() {
        answer.withLock { $0 = .failure(RedisError(code: .authentication, message: "the vault is shut")) }
    }

    func ask() async throws -> RedisCredentials {
        asked.wrappingAdd(1, ordering: .relaxed)
        await Task.yield()
        return try answer.withLock { try $0.get() }
    }
}
