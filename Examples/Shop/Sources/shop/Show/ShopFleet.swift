import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import StrataTesting

/// The instances of the show, and a balancer before them that does what proxies do: when an instance cannot be reached, it
/// asks the next one.
final class ShopFleet: Sendable {
    struct Answer: Sendable {
        var product: Product?
        /// Where the value came from, as the instance says.
        var origin: String
        var isRetried: Bool
    }

    let instances: [ShopInstance]
    private let client: HTTPClient

    init(count: Int, redis: String, database: String) async throws {
        // An instance that cannot be reached is known at once, so that the next one is asked.
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        var started: [ShopInstance] = []
        for _ in 0..<count { started.append(try await ShopInstance(client, redis: redis, database: database)) }
        instances = started
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

    func stop() async {
        for instance in instances { await instance.stop() }
        try? await client.shutdown()
    }
}

/// A process that serves, as its callers see it.
final class ShopInstance: Sendable {
    /// An answer that is none.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    private let client: HTTPClient
    private let process: InstanceProcess
    private let base: String

    init(_ client: HTTPClient, redis: String, database: String) async throws {
        self.client = client
        process = try await InstanceProcess.start(
            try InstanceProcess.builtProduct(named: "shop"),
            arguments: ["serve"],
            environment: ["STRATA_REDIS_URL": redis, "SHOP_DATABASE": database, "SHOP_PORT": "0"]
        )
        var port: String?
        for await line in process.lines where line.hasPrefix("port ") {
            port = String(line.dropFirst(5))
            break
        }
        guard let port else { throw Refusal(description: "an instance has ended before it served") }
        base = "http://127.0.0.1:\(port)"
    }

    var isKilled: Bool { process.exitStatus != nil }

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
        guard response.status == .noContent else { throw Refusal(description: "status \(response.status.code)") }
    }

    func invalidate(category: String) async throws {
        let response = try await send(.DELETE, "/categories/\(category)/cached")
        guard response.status == .noContent else { throw Refusal(description: "status \(response.status.code)") }
    }

    func queries() async throws -> [Int: Int] {
        let body = try await send(.GET, "/stats").body.collect(upTo: 1 << 20)
        return try JSONDecoder().decode(ShopRoutes.Stats.self, from: Data(body.readableBytesView)).queries
    }

    private func send(_ method: HTTPMethod, _ path: String, body: String? = nil) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: base + path)
        request.method = method
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        return try await client.execute(request, timeout: .seconds(10))
    }

    func kill() async throws { _ = try await process.kill() }

    func stop() async { _ = try? await process.stop() }
}
