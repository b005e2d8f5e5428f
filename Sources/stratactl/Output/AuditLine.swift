import StrataRedis

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One line that tells who has changed what, where and when; for whoever keeps the standard error output.
enum AuditLine {
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
