/// What a server says it is, in its answer to `HELLO`.
///
/// The command is allowed to every user that has logged in, and Redis, Valkey and their relatives have it since Redis
/// 6.0. So it tells what INFO and ROLE would, for which a user may lack the permission.
struct ServerIdentity: Sendable, Hashable {
    enum Mode: String, Sendable {
        case standalone
        case sentinel
        case cluster
    }

    /// `nil` if the server names none, or one that is not known.
    var mode: Mode?
    /// `nil` if the server names no role, as Sentinels do.
    var isReplica: Bool?
    /// Its first two numbers.
    var version: (major: Int, minor: Int)? { numbers.count == 2 ? (numbers[0], numbers[1]) : nil }
    private var numbers: [Int] = []
    /// Whether the version is one of Redis, and not one that a relative counts by itself.
    private var isRedis = false

    /// Reads an answer; `nil` for what is none.
    init?(_ reply: RESPValue) {
        guard case .array(let parts) = reply, parts.count >= 2 else { return nil }
        for index in stride(from: 0, to: parts.count - 1, by: 2) {
            guard let text = parts[index + 1].string else { continue }
            switch parts[index].string {
            case "server": isRedis = text == "redis"
            case "version": numbers = text.split(separator: ".").prefix(2).compactMap { Int($0) }
            case "mode": mode = Mode(rawValue: text)
            case "role": isReplica = text == "replica" || text == "slave"
            default: break
            }
        }
        guard mode != nil || isReplica != nil || !numbers.isEmpty else { return nil }
    }

    /// Whether it is an older Redis than the oldest that is supported, 6.2.
    var isTooOld: Bool {
        guard isRedis, let version else { return false }
        return version < (6, 2)
    }
}
