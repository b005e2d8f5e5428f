import Strata
import Testing

@testable import StrataRedis

@Suite("URLs of Sentinels, and of what is to be found out")
struct TopologyURLTests {
    @Test("hosts, ports, name, users and passwords")
    func parts() throws {
        let configuration = try RedisConfiguration(
            url: "redis-sentinel://u:p%2Fw@a,b:1,[::1]:2/3?master=my%20set&sentinelUser=s&sentinelPassword=x%26y"
        )
        #expect(configuration.topology == .sentinel)
        #expect(configuration.username == "u" && configuration.password == Secret("p/w"))
        #expect(configuration.database == 3)
        let sentinels = try #require(configuration.sentinels)
        #expect(
            sentinels.endpoints == [
                .tcp(host: "a", port: 26_379), .tcp(host: "b", port: 1), .tcp(host: "::1", port: 2),
            ]
        )
        #expect(sentinels.primary == "my set")
        #expect(sentinels.username == "s" && sentinels.password == Secret("x&y"))
        try configuration.validate()
        #expect("\(configuration)" == "Redis at my set@a:26379,b:1,[::1]:2, database 3")
        let printed = "\(sentinels) \(String(reflecting: sentinels)) \(String(reflecting: configuration))"
        #expect(!printed.contains("x&y") && !printed.contains("p/w"))
        var text = ""
        dump(sentinels, to: &text)
        #expect(!text.contains("sentinelUser") && !text.contains("x&y"))
    }

    @Test(
        "which topology a URL has",
        arguments: [
            ("redis://h", .single, 6379), ("redis://h?topology=single", .single, 6379),
            ("redis://h:1?db=2&topology=auto", .auto, 1), ("unix:///s?topology=auto", .auto, nil),
            ("redis://h?topology=sentinel&master=m", .sentinel, 26_379), ("redis://h,i?topology=auto", .auto, 6379),
            ("redis-sentinel://h?master=m&topology=sentinel", .sentinel, 26_379),
            ("redis://h?topology=auto&master=m", .auto, 6379), ("redis://h?topology=cluster", .cluster, 6379),
            ("redis-cluster://h", .cluster, 6379), ("redis-cluster://h,i:2/0?topology=cluster", .cluster, 6379),
            ("rediss-cluster://h:7,i", .cluster, 7),
        ] as [(String, RedisTopology, UInt16?)]
    )
    func topologies(url: String, topology: RedisTopology, port: UInt16?) throws {
        let configuration = try RedisConfiguration(url: url)
        try configuration.validate()
        #expect(configuration.topology == topology)
        if let port { #expect(configuration.endpoint == .tcp(host: "h", port: port)) }
        #expect((configuration.sentinels == nil) == (topology == .single || topology == .cluster))
        #expect((configuration.tls == nil) == !url.hasPrefix("rediss"))
    }

    @Test(
        "what is refused",
        arguments: [
            "redis-sentinel://h", "redis-sentinel://h?master=", "redis-sentinel://?master=m",
            "redis-sentinel://a,?master=m",
            "redis-sentinel://a,,b?master=m", "redis-sentinel://,?master=m", "redis-sentinel://a?master=m&master=n",
            "redis-sentinel://a?master=m&x=y", "redis-sentinel://a?master", "redis-sentinel://a?master=m&",
            "redis-sentinel://a?master=%", "redis-sentinel://a?master=%ff",
            "redis-sentinel://a?master=m&topology=single",
            "redis-sentinel://a?master=m&sentinelUser=u", "redis-sentinel://a:0?master=m",
            "redis-sentinel://" + Array(repeating: "h", count: 65).joined(separator: ",") + "?master=m",
            "redis-sentinel://" + Array(repeating: "h", count: 5_000).joined(separator: ",") + "?master=m",
            "redis-sentinel://h?master=" + String(repeating: "m", count: 1025),
            "redis://a,b", "redis://a?master=m", "redis://a?topology=", "redis://a?topology=many",
            "redis-cluster://a/1", "redis-cluster://a?db=1", "redis-cluster://a,", "redis-cluster://a?master=m",
            "redis-cluster://a?topology=single", "redis-cluster://a?topology=auto",
            "redis-sentinel://a?topology=cluster",
            "redis-cluster://" + Array(repeating: "h", count: 65).joined(separator: ","), "unix:///s?topology=cluster",
            "redis-cluster://a?replicaLagLimit=99", "redis-cluster://a?replicaLagLimit=-1000",
            "redis-cluster://a?replicaLagLimit=10000000", "redis-cluster://a?replicaLagLimit=5s",
            "redis-cluster://a?replicaLagLimit=", "redis://a?replicaLagLimit=1000",
            "redis-sentinel://a?master=m&replicaLagLimit=1000", "redis://a?topology=auto&replicaLagLimit=1000",
            "redis://a?sentinelPassword=p", "redis://a?topology=auto&topology=auto", "unix:///s?master=m",
        ]
    )
    func refused(url: String) {
        let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: url).validate() }
        #expect(error?.code == .invalidConfiguration)
        #expect((error?.message.utf8.count ?? 0) < 200)
    }

    @Test("how old a replica's answer may be")
    func replicaLagLimit() throws {
        let configuration = try RedisConfiguration(url: "redis-cluster://a,b?replicaLagLimit=10000")
        #expect(configuration.replicaLagLimit == .seconds(10))
        try configuration.validate()
        #expect(try RedisConfiguration(url: "redis-cluster://a").replicaLagLimit == nil)
    }

    @Test("a configuration without Sentinels, or with too many, is refused before anything is connected")
    func invalid() {
        let one = RedisEndpoint.tcp(host: "h")
        let options = [
            SentinelOptions(endpoints: [], primary: "m"), SentinelOptions(endpoints: [one], primary: ""),
            SentinelOptions(endpoints: Array(repeating: one, count: 65), primary: "m"),
            SentinelOptions(endpoints: [one, .tcp(host: "")], primary: "m"),
        ]
        for options in options {
            let error = #expect(throws: RedisError.self) { try RedisClient(RedisConfiguration(sentinels: options)) }
            #expect(error?.code == .invalidConfiguration)
        }
        var late = SentinelOptions(endpoints: [one], primary: "m")
        late.timeout = .zero
        #expect(throws: RedisError.self) { try RedisClient(RedisConfiguration(sentinels: late)) }
    }
}
