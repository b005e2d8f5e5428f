internal import Strata

/// How a rule is tried: a command that changes nothing, on a key that does not exist.
///
/// A server looks at a user's rights before it looks at arguments. So where a command would change something even so,
/// it is given arguments that it refuses.
enum AccessProbe {
    /// The command with its arguments.
    ///
    /// - Parameters:
    ///   - command: As rules name it.
    ///   - key: A key that does not exist.
    ///   - channel: A channel.
    ///   - database: The database of the connection.
    /// - Returns: The words; `nil` for a command that there is no harmless form of.
    static func arguments(of command: String, key: String, channel: String, database: Int) -> [String]? {
        switch command {
        case "ping", "dbsize", "time": [command]
        case "cluster|info", "cluster|shards", "cluster|slots": ["cluster", String(command.dropFirst(8))]
        // It holds for the next command, which is one for no key, or is answered like that.
        case "asking": [command]
        // The connection is used for nothing else.
        case "readonly": [command]
        case "info": [command, "server"]
        case "select": [command, String(database)]
        case "client|setname": ["client", "setname", "strata-check"]
        case "client|id": ["client", "id"]
        case "client|tracking": ["client", "tracking", "off"]
        case "subscribe": [command, channel]
        // No listener acts on an empty message.
        case "publish": [command, channel, ""]
        case "eval": [command, "return 1", "0"]
        case "evalsha": [command, String(repeating: "0", count: 40), "0"]
        case "scan": [command, "0", "COUNT", "1"]
        case "get", "mget", "strlen", "exists", "del", "unlink", "pttl", "type", "hlen": [command, key]
        case "memory|usage": ["memory", "usage", key]
        case "getrange": [command, key, "0", "0"]
        // It expires in no time, which is refused.
        case "set": [command, key, "", "EX", "0"]
        case "setrange": [command, key, "0", ""]
        case "pexpire": [command, key, "1"]
        case "hmget", "hdel", "hget": [command, key, "f"]
        // A field without a value.
        case "hset": [command, key, "f", "v", "g"]
        case "hscan": [command, key, "0"]
        default: nil
        }
    }

    /// What a command takes.
    enum Object { case nothing, key, channel }

    static func object(of command: String) -> Object {
        switch command {
        case "publish", "subscribe": .channel
        case "ping", "dbsize", "time", "info", "select", "eval", "evalsha", "scan", "asking", "readonly": .nothing
        default: command.hasPrefix("client|") || command.hasPrefix("cluster|") ? .nothing : .key
        }
    }

    /// What matches a pattern of rules.
    static func example(of pattern: String, ending: String) -> String {
        var text = ""
        var isEscaped = false
        for character in pattern {
            if character == "\\", !isEscaped {
                isEscaped = true
                continue
            }
            if character == "*", !isEscaped { text += ending } else { text.append(character) }
            isEscaped = false
        }
        return text
    }

    /// What kind of rule a refusal misses; `nil` when it is no refusal of this kind.
    ///
    /// The words differ between versions; these are in all of them since 6.2.
    static func object(refusedBy text: String) -> Object? {
        guard text.hasPrefix("NOPERM") else { return nil }
        if text.contains("to run the") { return .nothing }
        return text.contains("channel") ? .channel : .key
    }
}
