internal import StrataTesting

@testable import Strata
@testable import StrataRedis

/// Answers to commands: by default what a server would say, with numbers, values and records that the input bends; now and
/// then something else altogether.
struct Answers: Sendable {
    /// What the invalidation link is answered and told.
    var told: FuzzInput
    /// What everything else is answered.
    var asked: FuzzInput

    mutating func steps(for command: [String]) -> [ScriptedServer.Step] {
        guard let name = command.first else { return [] }
        switch (name, command.dropFirst().first) {
        case ("CLIENT", "ID"), ("CLIENT", "TRACKING"), ("SUBSCRIBE", _):
            return Self.steps(&told) { Self.link(command, &$0) }
        default:
            return Self.steps(&asked) { Self.ordinary(command, &$0) }
        }
    }

    private static func steps(
        _ input: inout FuzzInput,
        _ usual: (inout FuzzInput) -> [UInt8]
    ) -> [ScriptedServer.Step] {
        switch input.byte() {
        case ..<200: [.send(usual(&input))]
        case ..<225: [.send(anything(&input, depth: 3))]
        case ..<240: [.send(error(&input))]
        case ..<250: [.send(input.run())]
        case ..<253: []
        default: [.close]
        }
    }

    // MARK: The link

    private static func link(_ command: [String], _ input: inout FuzzInput) -> [UInt8] {
        switch command[0] {
        case "SUBSCRIBE":
            let acknowledged = command.dropFirst().flatMap { array([bulk("subscribe"), bulk($0), integer(1)]) }
            return acknowledged + (0..<input.choice(4)).flatMap { _ in message(command.last ?? "", &input) }
        default:
            return command[1] == "ID" ? integer(input.number(7)) : Array("+OK\r\n".utf8)
        }
    }

    private static func message(_ channel: String, _ input: inout FuzzInput) -> [UInt8] {
        let key = Keyspace("fuzz").names(for: [UInt8(ascii: "a")]).value.bytes
        let content: [UInt8]
        switch input.choice(7) {
        case 0: return array([bulk("message"), bulk("__redis__:invalidate"), array([bulk(key)])])
        case 1: return array([bulk("message"), bulk("__redis__:invalidate"), Array("*-1\r\n".utf8)])
        case 2: return array([bulk("message"), bulk("__redis__:invalidate"), anything(&input, depth: 2)])
        case 3: content = Array("t\(input.number(1)):\(input.number(2)):".utf8) + input.run()
        case 4: content = Array("c\(input.number(1)):\(input.number(2)):".utf8)
        case 5: content = [UInt8(ascii: "i")] + key
        default: content = input.run()
        }
        return array([bulk("message"), bulk(channel), bulk(content)])
    }

    // MARK: What a server would say

    private static func ordinary(_ command: [String], _ input: inout FuzzInput) -> [UInt8] {
        let first = command.dropFirst().first ?? ""
        switch command[0] {
        case "CLIENT", "AUTH", "SELECT", "SET": return Array("+OK\r\n".utf8)
        case "PING": return Array("+PONG\r\n".utf8)
        case "HELLO": return hello(&input)
        case "TIME": return array([decimal(input.number(1_800_000_000)), decimal(input.number(5))])
        case "GET", "GETRANGE": return value(of: first, &input)
        case "MGET": return array(command.dropFirst().map { value(of: $0, &input) })
        case "HMGET": return array(command.dropFirst(2).map { _ in decimal(input.number(1_800_000_000_000_000)) })
        case "SCAN": return array([decimal(input.number(0)), array([name(&input), name(&input)])])
        case "HSCAN":
            return array([decimal(input.number(0)), array([bulk("=x"), decimal(input.number(9))])])
        case "TYPE": return Array("+string\r\n".utf8)
        case "INFO": return bulk(Array("# Server\r\nredis_version:".utf8) + input.run())
        case "PTTL": return integer(input.number(60_000))
        case "EVALSHA", "EVAL": return script(command, &input)
        default: return integer(input.number(1))
        }
    }

    /// Now and then a server in the wrong place.
    private static func hello(_ input: inout FuzzInput) -> [UInt8] {
        let mode = input.choice(16) == 15 ? ["sentinel", "cluster", ""][input.choice(3)] : "standalone"
        let role = input.choice(8) == 7 ? "replica" : "master"
        return array(["server", "redis", "version", "7.0.15", "mode", mode, "role", role].map { bulk($0) })
    }

    private static func script(_ command: [String], _ input: inout FuzzInput) -> [UInt8] {
        let key = command.count > 3 ? command[3] : ""
        switch scripts[command[1]] {
        case "read-or-lead":
            let answer = [2, 1, 3, 4, 0, 5, -1][input.choice(7)]
            let value = value(of: key, &input)
            return array([integer(Int64(answer)), value, integer(input.number(1)), record(&input)])
        case "advance":
            let clear = input.number(1_700_000_000_000_000)
            return array([integer(input.number(1_800_000_000_000_000)), integer(clear)])
        default: return integer(input.number(1))
        }
    }

    /// Names of scripts by digest and by text.
    private static let scripts: [String: String] = {
        let all = LeaseScripts.all + TagScripts.all + OutageScripts.all
        return Dictionary(all.flatMap { [($0.digest, $0.name), ($0.source, $0.name)] }) { first, _ in first }
    }()

    private static func value(of name: String, _ input: inout FuzzInput) -> [UInt8] {
        switch input.choice(8) {
        case 0: return Array("$-1\r\n".utf8)
        case 1: return bulk(input.run())
        case 2:
            var bytes = envelope(of: name, &input)
            let place = Int(input.byte())
            if place < bytes.count { bytes[place] ^= input.byte() }
            return bulk(bytes)
        default: return bulk(envelope(of: name, &input))
        }
    }

    private static func envelope(of name: String, _ input: inout FuzzInput) -> [UInt8] {
        let now: Int64 = 1_800_000_000_000
        var envelope = Envelope(
            kind: Envelope.Kind(rawValue: input.byte() % 4) ?? .value,
            codec: 3,
            keyHash: KeyNames.fingerprint(of: Array(name.utf8)),
            version: EntryVersion(high: 1, low: UInt64(input.byte())),
            storedAt: input.number(now),
            freshUntil: input.number(now + 50_000),
            staleUntil: input.number(now + 90_000),
            payload: input.choice(4) == 3 ? input.run() : Array("\"value\"".utf8)
        )
        envelope.codec = Codec<String>.json.identifier
        envelope.fetchDuration = UInt32(truncatingIfNeeded: input.number(9))
        envelope.asOf = UInt64(bitPattern: input.number(1_800_000_000_000_000))
        if input.choice(2) == 1 { envelope.tags = ["x", "z"] }
        return (try? envelope.encoded()) ?? []
    }

    private static func record(_ input: inout FuzzInput) -> [UInt8] {
        switch input.choice(5) {
        case 0: bulk("")
        case 1: bulk(Array("F\(input.number(1)):".utf8) + input.run())
        case 2: bulk(Array("T0123456789abcdef".utf8) + input.run())
        case 3: Array("$-1\r\n".utf8)
        default: bulk(input.run())
        }
    }

    private static func name(_ input: inout FuzzInput) -> [UInt8] {
        let names = Keyspace("fuzz").names(for: [UInt8(ascii: "a") + input.byte() % 3])
        return switch input.choice(4) {
        case 0: bulk(names.value.bytes)
        case 1: bulk(names.lease.bytes)
        case 2: bulk(input.run())
        default: bulk(names.value.bytes + input.run())
        }
    }

    // MARK: What no server would say

    private static func anything(_ input: inout FuzzInput, depth: Int) -> [UInt8] {
        switch input.choice(depth > 0 ? 8 : 6) {
        case 0: Array("$-1\r\n".utf8)
        case 1: integer(input.number(0))
        case 2: decimal(input.number(0))
        case 3: Array("+OK\r\n".utf8)
        case 4: bulk(input.run())
        case 5: error(&input)
        default: array((0..<input.choice(5)).map { _ in anything(&input, depth: depth - 1) })
        }
    }

    private static func error(_ input: inout FuzzInput) -> [UInt8] {
        let texts = [
            "NOSCRIPT No matching script.", "READONLY You can't write against a read only replica.",
            "MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381", "WRONGTYPE wrong kind of value",
            "NOPERM this user has no permissions", "OOM command not allowed", "LOADING loading the dataset in memory",
            "ERR max number of clients reached", "BUSY running a script", "", " ", "ERR",
        ]
        return Array("-\(texts[input.choice(texts.count)])\r\n".utf8)
    }
}

private func integer(_ number: Int64) -> [UInt8] { Array(":\(number)\r\n".utf8) }

private func decimal(_ number: Int64) -> [UInt8] { bulk("\(number)") }

private func bulk(_ text: String) -> [UInt8] { bulk(Array(text.utf8)) }

private func bulk(_ bytes: [UInt8]) -> [UInt8] { Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n".utf8) }

private func array(_ elements: [[UInt8]]) -> [UInt8] { Array("*\(elements.count)\r\n".utf8) + elements.flatMap { $0 } }
