#if TLS
import Foundation
import Strata
import StrataTestSupport
import StrataTesting

@testable import StrataRedis

/// A server that speaks TLS with a certificate of an authority made for it.
struct TLSFixture: Sendable {
    let authority: TestAuthority
    let server: RedisServer

    static func with(
        clientCertificates: RedisServer.TLS.ClientCertificates = .ignored,
        versions: String? = nil,
        directives: [RedisServer.Directive] = [],
        certificate: (TestAuthority) async throws -> TestCertificate = { try await $0.issue() },
        _ body: (TLSFixture) async throws -> Void
    ) async throws {
        let authority = try await TestAuthority.make()
        let tls = try await RedisServer.TLS(
            certificate(authority),
            authorities: authority.certificate,
            clientCertificates: clientCertificates,
            versions: versions
        )
        try await RedisServer.withServer(.init(directives: directives, tls: tls)) { server in
            try await body(TLSFixture(authority: authority, server: server))
        }
    }

    /// A configuration that trusts the authority and is patient enough for a busy machine.
    func configuration(port: UInt16? = nil) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: "rediss://localhost:\(port ?? server.tlsPort ?? 0)")
        configuration.tls?.authorities = authority.certificate
        configuration.beIn(patience: .seconds(20))
        return configuration
    }

    func client(
        port: UInt16? = nil,
        recorder: LogRecorder? = nil,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisClient {
        var configuration = try configuration(port: port)
        adjust(&configuration)
        return try RedisClient(configuration, logger: recorder?.logger)
    }

    /// The error of a first call.
    func refusal(
        port: UInt16? = nil,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) async throws -> RedisError? {
        let redis = try client(port: port, adjust)
        defer { withExtendedLifetime(redis) {} }
        do {
            try await redis.ping()
            return nil
        } catch let error as RedisError {
            return error
        }
    }
}

/// Puts the content of one file in place of another's, as a rename does.
func replace(_ file: String, by other: String) throws {
    let fresh = file + ".new"
    try Data(contentsOf: URL(fileURLWithPath: other)).write(to: URL(fileURLWithPath: fresh))
    guard rename(fresh, file) == 0 else { throw CocoaError(.fileWriteUnknown) }
}
#endif
