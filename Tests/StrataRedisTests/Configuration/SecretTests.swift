import Testing

@testable import StrataRedis

@Suite("Secrets")
struct SecretTests {
    private static let secret = Secret("hunter2")

    private func dumped(_ value: some Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }

    @Test("nothing prints one: not by itself, not inside something else")
    func unprintable() throws {
        let secret = Self.secret
        var configuration = try RedisConfiguration(url: "redis://hunter2user:hunter2@h")
        configuration.password = secret
        let texts = [
            "\(secret)", secret.description, secret.debugDescription, String(describing: secret),
            String(reflecting: secret),
            dumped(secret), "\(Optional(secret) as Any)", "\([secret])", "\(["password": secret])",
            dumped([secret: secret]),
            "\(configuration)", String(reflecting: configuration), dumped(configuration),
            "\(Handshake(configuration))", dumped(Handshake(configuration)), dumped(ConnectionSettings(configuration)),
            "\(Mirror(reflecting: secret))", "\(Mirror(reflecting: secret).children.map { "\($0)" })",
        ]
        for text in texts {
            #expect(!text.contains("hunter2"), "\(text)")
        }
        // Not even the length.
        #expect(dumped(secret) == dumped(Secret("")))
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test("all look alike, and are compared by what they hold")
    func equality() {
        #expect("\(Secret(""))" == "\(Self.secret)")
        #expect(Self.secret == Secret("hunter2"))
        #expect(Self.secret != Secret("hunter3"))
        #expect(Self.secret.text == "hunter2")
    }
}
