import Testing

@testable import StrataRedis

@Suite("Endpoints in print")
struct RedisEndpointTests {
    @Test(
        "host and port, or the path",
        arguments: [
            (.tcp(host: "h"), "h:6379"), (.tcp(host: "10.0.0.1", port: 1), "10.0.0.1:1"),
            (.tcp(host: "::1"), "[::1]:6379"),
            (.unix(path: "/tmp/a b"), "/tmp/a b"),
        ] as [(RedisEndpoint, String)]
    )
    func plain(endpoint: RedisEndpoint, expected: String) {
        #expect(endpoint.description == expected)
    }

    @Test(
        "what is printed can be read again",
        arguments: ["[fe80::1%eth0]:7000", "[fe80::1%25]:6379", "h:1", "/tmp/a%20b"]
    )
    func readAgain(text: String) throws {
        #expect(try RedisEndpoint(text: text, port: 6379).description == text)
        #expect(throws: RedisError.self) { try RedisEndpoint(text: "a%2eb", port: 6379) }
    }

    @Test("nothing in a host or path acts on a terminal")
    func escaped() {
        let hostile = "a\u{1b}[31m\r\n\u{202e}b\u{9b}"
        for endpoint in [RedisEndpoint.tcp(host: hostile), .unix(path: hostile), .tcp(host: "::" + hostile)] {
            let text = endpoint.description
            #expect(text.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 && $0.value != 0x7f }, "\(text)")
        }
    }
}
