import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StrataRedis
import StrataTesting

/// `stratactl dashboard`, and a browser that looks at it.
final class FleetDashboard: Sendable {
    /// What the page of the keyspace is told, of one moment.
    struct Sample: Decodable, Sendable {
        struct Table: Decodable, Sendable { var rows: [[String]] }

        struct Hits: Decodable, Sendable {
            var level: String
            var percent: Double?
        }

        var instances: Int
        /// Those that are listed and did not answer.
        var silent: Int
        var readsPerSecond: Double
        var hits: [Hits]
        var table: Table

        /// The instances by name.
        var names: [String] { table.rows.compactMap(\.first).sorted() }
    }

    let url: String
    /// What a person logs in with.
    let token: String
    let process: LoggedProcess
    private let client: HTTPClient

    init(_ client: HTTPClient, redis: String, folder: String) async throws {
        self.client = client
        process = try await LoggedProcess(
            product: "stratactl",
            ["dashboard", "--port", "0", "--interval", "1"],
            environment: ["STRATA_REDIS_URL": redis],
            as: "dashboard",
            loggingTo: folder
        )
        var (url, token): (String?, String?)
        for await line in process.process.lines {
            if line.hasPrefix("http://") { url = line }
            if line.hasPrefix("token: ") { token = String(line.dropFirst(7)) }
            if token != nil { break }
        }
        guard let url, let token else {
            throw ShopInstance.Refusal(description: "the dashboard has ended early: \(process.logTail())")
        }
        (self.url, self.token) = (url, token)
    }

    /// Logs in, opens the page of the keyspace, and follows its figures until they are as expected.
    ///
    /// - Parameters:
    ///   - limit: How long.
    ///   - fits: Whether they are.
    /// - Returns: The last figures.
    /// - Throws: `ShopInstance.Refusal` when the dashboard shows something else; errors of the HTTP client.
    func look(within limit: Duration, until fits: @Sendable (Sample) -> Bool) async throws -> Sample {
        let deadline = ContinuousClock.now + limit
        let cookie = try await logIn()
        let name = "name=\(ProductCache.keyspace.name)"
        var page = try await get("keyspace?\(name)", cookie, .seconds(10))
        // After an outage it says so until it is connected again: at most five seconds later, as any client.
        while page.status == .serviceUnavailable, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(100))
            page = try await get("keyspace?\(name)", cookie, .seconds(10))
        }
        let text = String(buffer: try await page.body.collect(upTo: 1 << 20))
        guard page.status == .ok, text.contains("data-stream=") else {
            throw ShopInstance.Refusal(description: "the page of the keyspace has status \(page.status.code)")
        }
        // Samples come each second, so the loop looks at the clock; the timeout is for a dashboard that tells nothing.
        let stream = try await get(
            "stream?\(name)",
            cookie,
            .nanoseconds(Int64(limit / .nanoseconds(1))) + .seconds(10)
        )
        var (pending, last): ([UInt8], Sample?) = ([], nil)
        for try await buffer in stream.body {
            pending += buffer.readableBytesView
            while let end = pending.firstRange(of: Array("\n\n".utf8)) {
                let event = String(decoding: pending[..<end.lowerBound], as: UTF8.self)
                pending.removeSubrange(..<end.upperBound)
                let start = "event: sample\ndata: "
                guard event.hasPrefix(start) else { continue }
                let sample = try JSONDecoder().decode(Sample.self, from: Data(event.dropFirst(start.count).utf8))
                if fits(sample) || ContinuousClock.now > deadline { return sample }
                last = sample
            }
        }
        guard let last else { throw ShopInstance.Refusal(description: "the dashboard shows nothing") }
        return last
    }

    /// The cookie of a new session.
    private func logIn() async throws -> String {
        var request = HTTPClientRequest(url: url + "login")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(ByteBuffer(string: "token=\(token)"))
        let response = try await client.execute(request, timeout: .seconds(10))
        guard let cookie = response.headers.first(name: "Set-Cookie")?.split(separator: ";").first else {
            throw ShopInstance.Refusal(description: "the dashboard lets nobody in: status \(response.status.code)")
        }
        return String(cookie)
    }

    private func get(_ path: String, _ cookie: String, _ timeout: TimeAmount) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: url + path)
        request.headers.add(name: "Cookie", value: cookie)
        return try await client.execute(request, timeout: timeout)
    }
}
