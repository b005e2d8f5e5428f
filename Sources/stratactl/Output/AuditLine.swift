import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One line that tells who changed what, where and when, on the standard error output.
enum AuditLine {
    /// Milliseconds of the server's clock since 1970; of this machine's where the server does not tell: what was done
    /// is told in any case.
    static func time(of redis: RedisClient) async -> Int64 {
        if let time = try? await redis.time() { return TimeSpan.milliseconds(time) }
        return Int64(Date().timeIntervalSince1970 * 1000)
    }

    /// Writes the line.
    ///
    /// - Parameters:
    ///   - action: The command.
    ///   - subject: What was changed, fit for a terminal.
    ///   - time: Milliseconds of the server's clock since 1970.
    ///   - redis: The server.
    static func write(_ action: String, _ subject: String, at time: Int64, _ redis: RedisClient) {
        let who = PrintableText.escape(Array(redis.configuration.instanceName.utf8))
        StandardError.line(
            "stratactl: audit: \(Timestamp.text(time) ?? "\(time)") uid \(getuid()) on \(who): \(action) \(subject) "
                + "at \(redis.configuration.place)"
        )
    }
}
