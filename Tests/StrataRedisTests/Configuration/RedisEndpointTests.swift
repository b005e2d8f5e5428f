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

    @Test("nothing in a host or path acts on a terminal")
    func escaped() {
        let hostile = "a\u{1b}[31m\r\n\u{202e}b\u{9b}"
        for endpoint in [RedisEndpoint.tcp(host: hostile), .unix(path: hostile), .tcp(host: "::" + hostile)] {
            let text = endpoint.description
            #expect(text.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 && $0.value != 0x7f }, "\(text)")
        }
    }
}
