import Strata
import Testing

@testable import StrataRedis

@Suite("Redis URLs")
struct RedisURLTests {
    struct Example: Sendable, CustomTestStringConvertible {
        var url: String
        var endpoint: RedisEndpoint
        var username: String?
        var password: String?
        var database = 0

        var testDescription: String { url }
    }

    static let good: [Example] = [
        Example(url: "redis://localhost", endpoint: .tcp(host: "localhost", port: 6379)),
        Example(url: "redis://localhost/", endpoint: .tcp(host: "localhost", port: 6379)),
        Example(url: "REDIS://Example.org:1", endpoint: .tcp(host: "Example.org", port: 1)),
        Example(url: "redis://10.0.0.1:65535/15", endpoint: .tcp(host: "10.0.0.1", port: 65_535), database: 15),
        Example(url: "redis://my_host-1.x:07000/007", endpoint: .tcp(host: "my_host-1.x", port: 7000), database: 7),
        Example(url: "redis://h?db=3", endpoint: .tcp(host: "h", port: 6379), database: 3),
        Example(url: "redis://h/?db=2147483647", endpoint: .tcp(host: "h", port: 6379), database: 2_147_483_647),
        Example(url: "redis://h/4?", endpoint: .tcp(host: "h", port: 6379), database: 4),
        Example(url: "redis://[::1]", endpoint: .tcp(host: "::1", port: 6379)),
        Example(url: "redis://[fe80::1%25eth0]:7000/1", endpoint: .tcp(host: "fe80::1%eth0", port: 7000), database: 1),
        Example(url: "redis://%6cocalhost", endpoint: .tcp(host: "localhost", port: 6379)),
        Example(url: "redis://bücher.example", endpoint: .tcp(host: "bücher.example", port: 6379)),
        Example(url: "redis://:pw@h", endpoint: .tcp(host: "h", port: 6379), password: "pw"),
        Example(
            url: "redis://u:pw@h:1/2",
            endpoint: .tcp(host: "h", port: 1),
            username: "u",
            password: "pw",
            database: 2
        ),
        Example(url: "redis://u@h", endpoint: .tcp(host: "h", port: 6379), username: "u"),
        Example(url: "redis://u:@h", endpoint: .tcp(host: "h", port: 6379), username: "u"),
        Example(url: "redis://:@h", endpoint: .tcp(host: "h", port: 6379)),
        Example(url: "redis://@h", endpoint: .tcp(host: "h", port: 6379)),
        Example(url: "redis://u:a:b@h", endpoint: .tcp(host: "h", port: 6379), username: "u", password: "a:b"),
        Example(url: "redis://:a@b@h", endpoint: .tcp(host: "h", port: 6379), password: "a@b"),
        Example(url: "redis://:a?b#c@h", endpoint: .tcp(host: "h", port: 6379), password: "a?b#c"),
        Example(
            url: "redis://u%3A%40:%2f%2F%00%c3%a9%25@h",
            endpoint: .tcp(host: "h", port: 6379),
            username: "u:@",
            password: "//\0é%"
        ),
        Example(
            url: "redis://:\u{301}pw@\u{301}x@h",
            endpoint: .tcp(host: "h", port: 6379),
            password: "\u{301}pw@\u{301}x"
        ),
        Example(url: "unix:///tmp/redis.sock", endpoint: .unix(path: "/tmp/redis.sock")),
        Example(url: "unix:///tmp/a%20b%3f?db=2", endpoint: .unix(path: "/tmp/a b?"), database: 2),
        Example(url: "unix:///run/redis@main.sock", endpoint: .unix(path: "/run/redis@main.sock")),
        Example(url: "unix:///run/redis@6379/s?db=1", endpoint: .unix(path: "/run/redis@6379/s"), database: 1),
        Example(
            url: "unix://u:pw@/run/redis@main/s",
            endpoint: .unix(path: "/run/redis@main/s"),
            username: "u",
            password: "pw"
        ),
        Example(url: "unix://:p/w@/s", endpoint: .unix(path: "/s"), password: "p/w"),
        Example(url: "unix:///p:w@/s", endpoint: .unix(path: "/s"), username: "/p", password: "w"),
    ]

    @Test("what a URL says", arguments: good)
    func parsed(example: Example) throws {
        let url = try RedisURL(example.url)
        #expect(url.endpoint == example.endpoint)
        #expect(url.username == example.username)
        #expect(url.password?.text == example.password)
        #expect(url.database == example.database)
    }

    static let bad = [
        "", "localhost", "localhost:6379", "redis:localhost", "redis:/localhost", "://", "redis://", "redis:///",
        "redis:///0",
        "http://h", "redis+unix:///s", " redis://h", "redis ://h", "redis://h ", "redis:// h",
        "redis://h\n",
        "redis://h:", "redis://h:0", "redis://h:65536", "redis://h:-1", "redis://h:+6379", "redis://h:6379x",
        "redis://h: 1",
        "redis://:6379", "redis://h:1:2", "redis://::1", "redis://[::1", "redis://[::1]x", "redis://[::1]6379",
        "redis://[]",
        "redis://h:\u{661}", "redis://h/\u{661}", "redis://h/x", "redis://h/-1", "redis://h/+3", "redis://h/1/2",
        "redis://h/ 1",
        "redis://h/2147483648", "redis://h/99999999999999999999", "redis://h/1?db=1", "redis://h?db", "redis://h?db=",
        "redis://h?db=1&x=2", "redis://h?x=1", "redis://h?db=-1", "redis://h?db=1?db=2", "redis://h#1",
        "redis://h%", "redis://h%2", "redis://h%zz", "redis://%00", "redis://h%00", "redis://h%ff", "redis://a%40b",
        "redis://a%2fb",
        "redis://u%3Apw%40h", "redis://%+5h", "redis://h\u{1b}[31m", "redis://\u{202e}h@", "redis://u:%@h",
        "redis://u:%+5@h",
        "redis://u:%-0@h", "redis://u:%ff@h", "redis://u%:p@h", "redis://u:p@", "redis://u:p@:1",
        "unix://", "unix://tmp/s", "unix://?db=1", "unix:///s?db=x", "unix:///s?x", "unix:///%ff", "unix:///s%",
        "unix://u:p@s",
        "redis://" + String(repeating: "h", count: 256),
        // Else the host would be a user, and the end of a parameter the host.
        "redis://10.0.0.1:26379?topology=auto&master=m&sentinelPassword=s3cr@t.example", "redis://h?db=1@x",
        "redis-sentinel://10.0.0.1?master=team@prod",
    ]

    @Test("what is no Redis URL is refused as such", arguments: bad)
    func refused(url: String) {
        let error = #expect(throws: RedisError.self) { try RedisURL(url) }
        #expect(error?.code == .invalidConfiguration)
        #expect(throws: RedisError.self) { try RedisConfiguration(url: url) }
    }

    @Test("the error of a malformed URL has neither its user nor its password", arguments: bad)
    func silentAboutItsParts(url: String) {
        let text = url.replacing("redis://", with: "redis://alice-U:hunter2-P@")
            .replacing("unix://", with: "unix://alice-U:hunter2-P@")
        expectSilent(text)
    }

    /// Whatever comes of it, error or endpoint: what is printed has neither user nor password.
    private func expectSilent(_ url: String) {
        var printed = ""
        do {
            let parsed = try RedisURL(url)
            let configuration = try RedisConfiguration(url: url)
            printed = "\(parsed.endpoint) \(String(reflecting: configuration.password))"
            try configuration.validate()
        } catch {
            printed += "\(error) \(String(reflecting: error))"
        }
        #expect(!printed.contains("hunter2") && !printed.contains("alice"), "\(url.debugDescription): \(printed)")
    }

    @Test("nothing that is printed has user or password, for thousands of broken URLs")
    func silentWhenBroken() {
        var random = SplitMix64.announced()
        let noise = [
            "@", ":", "/", "?", "#", "%", "%4", "%zz", "[", "]", "://", "\u{301}", "\u{202e}", "\u{1b}", " ", "\n",
            "\0", "=", "&",
            "db=", "é", "👩‍👩‍👧", "\u{200d}", "1", "6379",
        ]
        let schemes = ["redis://", "unix://", "rediss://", "redis:/", "REDIS://", "x://", "://", ""]
        for _ in 0..<20_000 {
            // The secret parts stand where they belong; everything around them may be broken.
            let scheme = schemes.randomElement(using: &random) ?? ""
            let host = ["", "h", "h:1", "[::1]", "/s", "h/0", "h?db=1"].randomElement(using: &random) ?? ""
            var parts = [scheme, "alice", ":", "hunter2", "@", host]
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let extra = noise.randomElement(using: &random) ?? ""
                // Not before the scheme's end, and not a slash that would end the authority within the password: what
                // is behind that is a path by RFC 3986.
                parts.insert(extra, at: .random(in: 4...parts.count, using: &random))
            }
            expectSilent(parts.joined())
        }
    }

    @Test("a stray combining mark, at any place, lets nothing out")
    func combiningMarks() {
        for mark in ["\u{301}", "\u{200d}", "\u{fe0f}", "\u{20e3}"] {
            let url = Array("redis://alice:hunter2@localhost:6379/0".unicodeScalars)
            for place in 0...url.count {
                var broken = String.UnicodeScalarView(url[..<place])
                broken.append(contentsOf: mark.unicodeScalars)
                broken.append(contentsOf: url[place...])
                expectSilent(String(broken))
            }
        }
    }
}
