import AsyncHTTPClient
import Foundation
import NIOCore
import StrataTesting

/// A Prometheus that scrapes the instances each second, with the alerts of the folder `Observability`.
final class Prometheus: Sendable {
    /// What it answers to a query.
    private struct Answer: Decodable {
        struct Content: Decodable { var result: [Sample] }

        struct Sample: Decodable {
            var metric: [String: String]
            /// A time, and a number as text.
            var value: [Value]
        }

        enum Value: Decodable {
            case time(Double)
            case number(Double)

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let text = try? container.decode(String.self) {
                    self = .number(Double(text) ?? .nan)
                } else {
                    self = .time(try container.decode(Double.self))
                }
            }
        }

        var data: Content
    }

    let process: LoggedProcess
    let url: String
    private let client: HTTPClient

    /// Starts the program when it is installed.
    ///
    /// - Returns: `nil` if it is not.
    static func start(_ client: HTTPClient, scraping instances: [ShopInstance], in folder: String) async throws
        -> Prometheus?
    {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let isInstalled = path.split(separator: ":")
            .contains { FileManager.default.isExecutableFile(atPath: "\($0)/prometheus") }
        return isInstalled ? try await Prometheus(client, instances, folder) : nil
    }

    private init(_ client: HTTPClient, _ instances: [ShopInstance], _ folder: String) async throws {
        self.client = client
        let targets = instances.map { instance in
            """
                  - targets: ['\(instance.address)']
                    labels: { instance: '\(instance.process.name)' }
            """
        }
        let configuration = """
            global: { scrape_interval: 1s, evaluation_interval: 1s }
            rule_files: ['\(Self.alerts)']
            scrape_configs:
              - job_name: shop
                static_configs:
            \(targets.joined(separator: "\n"))
            """
        let file = "\(folder)/prometheus.yml"
        try configuration.write(toFile: file, atomically: true, encoding: .utf8)
        process = try await LoggedProcess(
            program: "prometheus",
            [
                "--config.file=\(file)", "--storage.tsdb.path=\(folder)/prometheus",
                "--web.listen-address=127.0.0.1:0",
            ],
            as: "prometheus",
            loggingTo: folder
        )
        // It logs its port.
        var address: Substring?
        let deadline = ContinuousClock.now.advanced(by: .seconds(30))
        while address == nil {
            address = process.log.firstMatch(of: /msg="Listening on".*? address=(\S+)/)?.1
            guard process.process.exitStatus == nil else {
                throw ShopInstance.Refusal(description: "Prometheus has ended early: \(process.logTail())")
            }
            guard .now < deadline else {
                throw ShopInstance.Refusal(
                    description: "Prometheus listens nowhere: \(process.logTail())"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        url = "http://\(address ?? "")"
    }

    private static var alerts: String {
        URL(filePath: #filePath).appending(path: "../../../../../../Observability/alerts.yml").standardized
            .path(percentEncoded: false)
    }

    /// Asks until the answer is as expected.
    ///
    /// - Parameters:
    ///   - expression: In Prometheus' language.
    ///   - limit: How long it is asked.
    ///   - fits: Whether the answer is as expected.
    /// - Returns: The last answer: what was measured, by instance or by alert.
    /// - Throws: `CancellationError`.
    func ask(
        _ expression: String,
        within limit: Duration,
        until fits: @Sendable ([String: Double]) -> Bool
    ) async throws -> [String: Double] {
        let deadline = ContinuousClock.now + limit
        while true {
            // It takes a moment to begin.
            let answer = try? await ask(expression)
            if let answer, fits(answer) || ContinuousClock.now > deadline { return answer }
            if answer == nil, ContinuousClock.now > deadline { return [:] }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private func ask(_ expression: String) async throws -> [String: Double] {
        var parts = URLComponents(string: "\(url)/api/v1/query")
        parts?.queryItems = [URLQueryItem(name: "query", value: expression)]
        // A plus would be read as a space.
        let query = parts?.string?.replacing("+", with: "%2B") ?? url
        let response = try await client.execute(HTTPClientRequest(url: query), timeout: .seconds(5))
        let body = try await response.body.collect(upTo: 1 << 20)
        let answer = try JSONDecoder().decode(Answer.self, from: Data(body.readableBytesView))
        return answer.data.result.reduce(into: [:]) { found, sample in
            guard case .number(let number)? = sample.value.last else { return }
            found[sample.metric["alertname"] ?? sample.metric["instance"] ?? ""] = number
        }
    }
}
