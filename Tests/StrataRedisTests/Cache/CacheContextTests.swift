import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a client has of caches")
struct CacheContextTests {
    @Test(
        "goes with the client, whatever is told of changes",
        arguments: ["", "&topology=cluster"],
        TrackingMode.allCases
    )
    func letGo(topology: String, mode: TrackingMode) throws {
        weak var link: InvalidationLink?
        weak var links: ClusterLinks?
        do {
            let text = "redis://127.0.0.1:1?tracking=\(mode.rawValue)\(topology)"
            let context = CacheContext(try RedisConfiguration(url: text), wakeup: try Wakeup(), logger: nil)
            (link, links) = (context.link, context.links)
            #expect((links != nil) == !topology.isEmpty)
        }
        #expect(link == nil && links == nil)
    }
}
