#if Dashboard
import Foundation
import Hummingbird
import HummingbirdTesting
import StrataTesting

/// A Chromium without a screen, driven by its WebDriver; https://www.w3.org/TR/webdriver2/.
struct WebDriver: Sendable {
    /// An element of the page that is open.
    struct Element: Sendable {
        let number: String
    }

    /// What the driver has refused.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// Whether there are a browser and its driver.
    static var isInstalled: Bool { path(of: "chromedriver") != nil && path(of: "chromium") != nil }

    private static func path(of program: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(program)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static let elementKey = "element-6066-11e4-a52e-4f735466cecf"

    private let client: TestClient
    private let session: String

    /// Runs a browser while a body lasts.
    static func with(_ body: (WebDriver) async throws -> Void) async throws {
        let process = try await InstanceProcess.start("chromedriver", arguments: ["--port=0"], standardError: .joined)
        do {
            let client = TestClient(
                host: "127.0.0.1",
                port: try await port(of: process),
                configuration: TestClient.Configuration(timeout: .seconds(120))
            )
            client.connect()
            do { try await body(try await WebDriver(client)) } catch {
                try? await client.shutdown()
                throw error
            }
            try await client.shutdown()
        } catch {
            _ = try? await process.stop()
            throw error
        }
        _ = try await process.stop()
    }

    private static func port(of process: InstanceProcess) async throws -> Int {
        var port: Int?
        for await line in process.lines {
            guard let range = line.range(of: "started successfully on port ") else { continue }
            port = Int(line[range.upperBound...].prefix { $0.isNumber })
            break
        }
        guard let port else { throw Refusal(description: "the driver has ended") }
        return port
    }

    private init(_ client: TestClient) async throws {
        self.client = client
        let options: [String: Any] = [
            "binary": Self.path(of: "chromium") ?? "chromium",
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        ]
        let capabilities: [String: Any] = [
            "alwaysMatch": ["goog:chromeOptions": options, "goog:loggingPrefs": ["browser": "ALL"]]
        ]
        struct Session: Decodable {
            let sessionId: String
        }
        session = try await Self.send("/session", ["capabilities": capabilities], Session.self, client).sessionId
    }

    // MARK: Commands

    func open(_ url: String) async throws { try await tell("url", ["url": url]) }

    func resize(width: Int, height: Int) async throws {
        try await tell("window/rect", ["width": width, "height": height])
    }

    /// The element that a selector of CSS finds.
    func find(_ selector: String) async throws -> Element {
        let body = ["using": "css selector", "value": selector]
        let found = try await send("element", body, [String: String].self)
        guard let number = found[Self.elementKey] else { throw Refusal(description: "no element: \(selector)") }
        return Element(number: number)
    }

    func type(_ text: String, into element: Element) async throws {
        try await tell("element/\(element.number)/value", ["text": text])
    }

    func click(_ element: Element) async throws { try await tell("element/\(element.number)/click", [:]) }

    /// What an expression of JavaScript is, as text.
    func value(of expression: String) async throws -> String {
        try await send("execute/sync", ["script": "return String(\(expression))", "args": [String]()], String.self)
    }

    /// Waits until an expression of JavaScript is true.
    func wait(until expression: String) async throws {
        // A page that goes has no such element for a moment.
        while (try? await value(of: "Boolean(\(expression))")) != "true" { try await nextTurn() }
    }

    /// What the page's console has said.
    func log() async throws -> [String] {
        struct Line: Decodable {
            let message: String
        }
        return try await send("se/log", ["type": "browser"], [Line].self).map(\.message)
    }

    /// Has the page drawn in dark colours.
    func goDark() async throws {
        let feature = ["name": "prefers-color-scheme", "value": "dark"]
        try await tell(
            "goog/cdp/execute",
            ["cmd": "Emulation.setEmulatedMedia", "params": ["features": [feature]]]
        )
    }

    /// Writes a picture of the page, if `STRATA_SCREENSHOTS` names a folder.
    func picture(_ name: String) async throws {
        guard let folder = ProcessInfo.processInfo.environment["STRATA_SCREENSHOTS"] else { return }
        let response = try await client.get(path("screenshot"))
        let json = Data(String(buffer: response.body ?? ByteBuffer()).utf8)
        let text = try JSONDecoder().decode(Answer<String>.self, from: json).value
        try Data(base64Encoded: text)?.write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
    }

    // MARK: The wire

    private struct Answer<Value: Decodable>: Decodable {
        let value: Value
    }

    private func path(_ rest: String) -> String { "/session/\(session)/\(rest)" }

    private func tell(_ command: String, _ body: [String: Any]) async throws {
        struct Nothing: Decodable {
            init(from decoder: any Decoder) {}
        }
        _ = try await send(command, body, Nothing.self)
    }

    private func send<Value: Decodable>(
        _ command: String,
        _ body: [String: Any],
        _ type: Value.Type
    ) async throws -> Value {
        try await Self.send(path(command), body, type, client)
    }

    private static func send<Value: Decodable>(
        _ path: String,
        _ body: [String: Any],
        _ type: Value.Type,
        _ client: TestClient
    ) async throws -> Value {
        let json = try JSONSerialization.data(withJSONObject: body)
        let response = try await client.post(
            path,
            headers: [.contentType: "application/json"],
            body: ByteBuffer(string: String(decoding: json, as: UTF8.self))
        )
        let text = String(buffer: response.body ?? ByteBuffer())
        guard response.status == .ok else { throw Refusal(description: "\(text.prefix(500))") }
        return try JSONDecoder().decode(Answer<Value>.self, from: Data(text.utf8)).value
    }
}
#endif
