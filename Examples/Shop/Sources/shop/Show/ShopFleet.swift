import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import StrataTesting

/// The instances of the show, and a balancer before them that does what proxies do: when an instance cannot be reached,
/// it asks the next one.
final class ShopFleet: Sendable {
    struct Answer: Sendable {
        var product: Product?
        /// Where the value came from, as the instance says.
        var origin: String
        var isRetried: Bool
    }

    let instances: [ShopInstance]
    private let client: HTTPClient

    /// Starts the instances.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - redis: The URL of Redis.
    ///   - folder: Where the database is, and where the instances log.
    ///   - client: What reaches them.
    /// - Throws: `HarnessError`, or `ShopInstance.Refusal` with the end of its log, when one of them does not start.
    init(count: Int, redis: String, folder: String, _ client: HTTPClient) async throws {
        self.client = client
        var started: [ShopInstance] = []
        for number in 1...count {
            started.append(try await ShopInstance("shop-\(number)", client, redis: redis, folder: folder))
        }
        instances = started
    }

    /// As proxies have it: an instance that cannot be reached is known at once, so that the next one is asked.
    static var callers: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// Asks for a product, beginning with an instance.
    func product(_ id: Int, from first: Int) async throws -> Answer {
        var attempt = 0
        while true {
            do {
                var answer = try await instances[(first + attempt) % instances.count].product(id)
                answer.isRetried = attempt > 0
                return answer
            } catch  where attempt + 1 < instances.count && !(error is ShopInstance.Refusal) {
                attempt += 1
            }
        }
    }

    /// How often the database was asked for each product.
    func queries() async throws -> [Int: Int] {
        var sum: [Int: Int] = [:]
        for instance in instances where !instance.isKilled {
            sum.merge(try await instance.queries(), uniquingKeysWith: +)
        }
        return sum
    }
}

/// A process that serves, as its callers see it.
final class ShopInstance: Sendable {
    /// An answer that is none.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    let process: LoggedProcess
    private let client: HTTPClient
    /// Host and port.
    let address: String

    init(_ name: String, _ client: HTTPClient, redis: String, folder: String) async throws {
        self.client = client
        process = try await LoggedProcess(
            product: "shop",
            ["serve"],
            environment: [
                "STRATA_REDIS_URL": redis, "SHOP_DATABASE": folder + "/shop.sqlite", "SHOP_PORT": "0",
                "SHOP_INSTANCE": name,
            ],
            as: name,
            loggingTo: folder
        )
        var port: String?
        for await line in process.process.lines where line.hasPrefix("port ") {
            port = String(line.dropFirst(5))
            break
        }
        guard let port else {
            throw Refusal(description: "\(name) has ended before it served: \(process.logTail())")
        }
        address = "127.0.0.1:\(port)"
    }

    var isKilled: Bool { process.process.exitStatus != nil }

    func product(_ id: Int) async throws -> ShopFleet.Answer {
        let response = try await send(.GET, "/products/\(id)")
        guard [.ok, .notFound].contains(response.status) else {
            throw Refusal(description: "status \(response.status.code)")
        }
        let body = try await response.body.collect(upTo: 1 << 16)
        return ShopFleet.Answer(
            product: response.status == .ok
                ? try JSONDecoder().decode(Product.self, from: Data(body.readableBytesView)) : nil,
            origin: response.headers.first(name: "X-Cache") ?? "none",
            isRetried: false
        )
    }

    func setPrice(of id: Int, to cents: Int) async throws {
        let response = try await send(.PUT, "/products/\(id)", body: "{\"cents\":\(cents)}")
        try Self.check(response)
    }

    func invalidate(category: String) async throws {
        let response = try await send(.DELETE, "/categories/\(category)/cached")
        try Self.check(response)
    }

    /// A removal that waits for Redis is answered with 202.
    private static func check(_ response: HTTPClientResponse) throws {
        guard [.noContent, .accepted].contains(response.status) else {
            throw Refusal(description: "status \(response.status.code)")
        }
    }

    func queries() async throws -> [Int: Int] {
        let body = try await send(.GET, "/stats").body.collect(upTo: 1 << 20)
        return try JSONDecoder().decode(ShopRoutes.Stats.self, from: Data(body.readableBytesView)).queries
    }

    /// The last spans, the one that has ended last at the end.
    func spans() async throws -> [TextSpan.Record] {
        let body = try await send(.GET, "/traces").body.collect(upTo: 1 << 22)
        return try String(buffer: body).split(separator: "\n")
            .map { try JSONDecoder().decode(TextSpan.Record.self, from: Data($0.utf8)) }
    }

    private func send(_ method: HTTPMethod, _ path: String, body: String? = nil) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: "http://\(address)\(path)")
        request.method = method
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        return try await client.execute(request, timeout: .seconds(10))
    }

    func kill() async throws { _ = try await process.process.kill() }
}
