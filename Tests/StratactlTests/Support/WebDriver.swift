#if Dashboard
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
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
    static var isInstalled: Bool {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return ["chromedriver", "chromium"]
            .allSatisfy { program in
                folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
            }
    }

    private static let elementKey = "element-6066-11e4-a52e-4f735466cecf"

    private let base: String
    private let session: String

    /// Runs a browser while a body lasts.
    static func with(_ body: (WebDriver) async throws -> Void) async throws {
        let process = try await InstanceProcess.start("chromedriver", arguments: ["--port=0"], standardError: .joined)
        do {
            try await body(try await WebDriver(process))
        } catch {
            _ = try? await process.stop()
            throw error
        }
        _ = try await process.stop()
    }

    private init(_ process: InstanceProcess) async throws {
        var port: Int?
        for await line in process.lines {
            guard let range = line.range(of: "started successfully on port ") else { continue }
            port = Int(line[range.upperBound...].prefix { $0.isNumber })
            break
        }
        guard let port else { throw Refusal(description: "the driver has ended") }
        base = "http://127.0.0.1:\(port)"
        let options: [String: Any] = [
            "binary": "/usr/bin/chromium",
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        ]
        let capabilities: [String: Any] = [
            "alwaysMatch": ["goog:chromeOptions": options, "goog:loggingPrefs": ["browser": "ALL"]]
        ]
        struct Session: Decodable {
            let sessionId: String
        }
        session = try await Self.send("\(base)/session", ["capabilities": capabilities], Session.self).sessionId
    }

    // MARK: Commands

    func open(_ url: String) async throws { try await tell("url", ["url": url]) }

    func resize(width: Int, height: Int) async throws {
        try await tell("window/rect", ["width": width, "height": height])
    }

    /// The element that a selector of CSS finds.
    func find(_ selector: String) async throws -> Element {
        let body = ["using": "css selector", "value": selector]
        let found = try await Self.send(path("element"), body, [String: String].self)
        guard let number = found[Self.elementKey] else { throw Refusal(description: "no element: \(selector)") }
        return Element(number: number)
    }

    func type(_ text: String, into element: Element) async throws {
        try await tell("element/\(element.number)/value", ["text": text])
    }

    func click(_ element: Element) async throws { try await tell("element/\(element.number)/click", [:]) }

    /// What an expression of JavaScript is, as text.
    func value(of expression: String) async throws -> String {
        try await Self.send(
            path("execute/sync"),
            ["script": "return String(\(expression))", "args": [String]()],
            String.self
        )
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
        return try await Self.send(path("se/log"), ["type": "browser"], [Line].self).map(\.message)
    }

    /// Has the page drawn as for somebody who wants dark colours.
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
        let (data, _) = try await URLSession.shared.data(from: try Self.url(path("screenshot")))
        let text = try JSONDecoder().decode(Answer<String>.self, from: data).value
        try Data(base64Encoded: text)?.write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
    }

    // MARK: The wire

    private struct Answer<Value: Decodable>: Decodable {
        let value: Value
    }

    private func path(_ rest: String) -> String { "\(base)/session/\(session)/\(rest)" }

    private static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw Refusal(description: text) }
        return url
    }

    private func tell(_ command: String, _ body: [String: Any]) async throws {
        struct Nothing: Decodable {
            init(from decoder: any Decoder) {}
        }
        _ = try await Self.send(path(command), body, Nothing.self)
    }

    private static func send<Value: Decodable>(
        _ address: String,
        _ body: [String: Any],
        _ type: Value.Type
    ) async throws -> Value {
        var request = URLRequest(url: try url(address))
        request.httpMethod = "POST"
        request.timeoutInterval = 120
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONSerialization.data(withJSONObject: body)
        let (data, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else {
            throw Refusal(description: String(decoding: data.prefix(500), as: UTF8.self))
        }
        return try JSONDecoder().decode(Answer<Value>.self, from: data).value
    }
}
#endif
