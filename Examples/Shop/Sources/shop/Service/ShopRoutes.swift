import Foundation
import HTTPTypes
import Hummingbird
import Strata
import StrataRedis

/// The routes of the service.
///
/// | route | does |
/// |---|---|
/// | `GET /products/7` | a product, with its ETag; `X-Cache` says where it came from |
/// | `GET /products?ids=1,2,3` | several, by one batch |
/// | `PUT /products/7`, `{"cents":199}` | changes the price, removes the product from all caches; 202 if Redis is away |
/// | `DELETE /categories/toys/cached` | removes the products of a category from all caches; 202 if Redis is away |
/// | `GET /health` | whether Redis serves and its changes are heard; 200 in an outage as well, for the shop goes on |
/// | `GET /stats` | the database queries of this instance, by product |
/// | `GET /metrics` | what the caches count, for Prometheus; leave it to the scraper |
/// | `GET /traces` | the last spans, a JSON object a line |
struct ShopRoutes {
    let catalogue: Catalogue
    let cache: ProductCache
    let redis: RedisClient
    let metrics: TextMetrics
    let traces: TextTraces

    struct Price: Decodable { var cents: Int }

    struct Health: ResponseEncodable, Codable {
        var redis: String
        var hearsOfChanges: Bool
        var pendingInvalidations: Int
    }

    struct Stats: ResponseEncodable, Codable { var queries: [Int: Int] }

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: TracingMiddleware())
        router.get("products/:id") { request, context in
            try await product(context.parameters.require("id", as: Int.self), request)
        }
        router.get("products") { request, _ in try await several(request) }
        router.put("products/:id") { request, context in
            let price = try await request.decode(as: Price.self, context: context)
            return try await setPrice(context.parameters.require("id", as: Int.self), price)
        }
        router.delete("categories/:name/cached") { _, context -> HTTPResponse.Status in
            let tag = "category:\(try context.parameters.require("name"))"
            return Self.status(try await cache.products.invalidate(tags: [tag], .deferred))
        }
        router.get("health") { _, _ in health }
        router.get("stats") { _, _ in Stats(queries: catalogue.queries) }
        router.get("metrics") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: metrics.page))
            )
        }
        router.get("traces") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "application/x-ndjson"],
                body: .init(byteBuffer: ByteBuffer(string: traces.page))
            )
        }
        return router
    }

    private func product(_ id: Int, _ request: Request) async throws -> Response {
        let (product, trace) = try await cache.products.getWithTrace(id)
        var fields = HTTPFields()
        fields[.cache] = (trace.origin?.description ?? "none") + (trace.state == .stale ? ", stale" : "")
        guard let product else { return Response(status: .notFound, headers: fields) }
        let tag = "\"\(product.id)-\(product.revision)\""
        fields[.eTag] = tag
        if request.headers[.ifNoneMatch] == tag { return Response(status: .notModified, headers: fields) }
        fields[.contentType] = "application/json"
        return Response(status: .ok, headers: fields, body: .init(byteBuffer: try Self.json(product)))
    }

    private func several(_ request: Request) async throws -> Response {
        guard let list = request.uri.queryParameters.get("ids") else {
            throw HTTPError(.badRequest, message: "ids is missing")
        }
        let ids = list.split(separator: ",").compactMap { Int($0) }
        guard !ids.isEmpty, ids.count <= 100 else { throw HTTPError(.badRequest, message: "1 to 100 ids") }
        let products = try await cache.products.get(ids).compactMap { $0 }
        return Response(
            status: .ok,
            headers: [.contentType: "application/json"],
            body: .init(byteBuffer: try Self.json(products))
        )
    }

    private func setPrice(_ id: Int, _ price: Price) async throws -> HTTPResponse.Status {
        guard try await catalogue.setPrice(of: id, to: price.cents) != nil else { throw HTTPError(.notFound) }
        // After the database, never before: a read in between would keep the old price. The price has changed, so this
        // does not fail while Redis is away: the client carries the removal out when Redis is back.
        return Self.status(try await cache.products.remove(id, .deferred))
    }

    /// 204 when all caches have dropped the old values, 202 when some will once Redis is back.
    private static func status(_ outcome: RemovalOutcome) -> HTTPResponse.Status {
        outcome == .deferred ? .accepted : .noContent
    }

    private var health: Health {
        let state = redis.outageStatistics
        return Health(
            redis: state.isImpaired ? "impaired" : "serves",
            hearsOfChanges: state.untrustedReason == nil,
            pendingInvalidations: state.pendingInvalidations
        )
    }

    private static func json(_ value: some Encodable) throws -> ByteBuffer {
        ByteBuffer(bytes: try JSONEncoder().encode(value))
    }
}

extension HTTPField.Name {
    /// Where a value came from.
    static let cache = HTTPField.Name("X-Cache")!
}
