import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("stratactl: why, in the memory of instances", .timeLimit(.minutes(5)))
struct WhyInMemoryTests {
    /// The answers about a key by the names of the instances, asked again until all have answered.
    private func answers(_ cache: Cache, _ key: String, _ count: Int) async throws -> [String: JSONNode] {
        while true {
            let json = try await cache.run("why", "things", key, "--format", "json", "--wait", "5").json()
            let instances = try #require(json["instances"]?.elements)
            guard instances.count == count, instances.allSatisfy({ $0["answer"] == .string("answered") }) else {
                continue
            }
            return Dictionary(instances.map { ($0["name"]?.string ?? "", $0) }) { $1 }
        }
    }

    @Test("each instance tells whether it has the key, how fresh it is, and that a tag has voided it")
    func states() async throws {
        try await Cache.withTellers("web-1/7", "web-2/8") { cache, tellers in
            try await tellers[0].cache.set("secret", for: "a b", tags: ["red"])
            let fresh = try await answers(cache, "a b", 2)
            #expect(fresh["web-1/7"]?["state"] == .string("fresh") && fresh["web-2/8"]?["state"] == .string("absent"))
            #expect(fresh["web-1/7"]?["tags"] == .number(1))
            // What was set and what was fetched ends as the policy says.
            _ = try await tellers[0].cache.get("f")
            for answered in [fresh, try await answers(cache, "f", 2)] {
                let left = try #require(answered["web-1/7"]?["freshForMilliseconds"]?.number)
                #expect((1...3_600_000).contains(left))
            }
            let page = try await cache.run("why", "things", "a b", "--wait", "60", "--format", "plain")
            let lines = page.lines.filter { $0.hasPrefix("in memory\t") }
            #expect(lines.count == 2 && lines[0].hasPrefix("in memory\tweb-1/7: fresh, for another "), "\(lines)")
            #expect(lines.last == "in memory\tweb-2/8: absent")
            #expect(!page.text.contains("secret"))
            try await tellers[1].cache.invalidate(tag: "red")
            while try await answers(cache, "a b", 2)["web-1/7"]?["state"] != .string("voidByTag") {}
            let void = try await cache.run("why", "things", "a b", "--wait", "60")
            #expect(void.text.contains("web-1/7: void: one of its tags was invalidated"), "\(void.text)")
        }
    }

    @Test("instances that are silent or lie, and users who may not ask, leave the rest of the page as it is")
    func bounds() async throws {
        let looker = "user looker on >pw \(AccessRules(for: [.look], keyspaces: ["things"]))"
        let configuration = RedisServer.Configuration(directives: [.init(stringLiteral: looker)])
        try await Cache.withTellers("web-1/7", configuration: configuration) { cache, _ in
            try await cache.level(.text).set("value", for: Array("a".utf8))
            try await cache.list((1...30).map { (cache.number($0), [0x1b]) })
            let run = try await cache.run("why", "things", "a", "--wait", "0.5", "--format", "plain")
            #expect(run.status.isSuccess && run.errors.isEmpty)
            let lines = run.lines.filter { $0.hasPrefix("in memory\t") }
            #expect(lines.count == 21, "\(lines)")
            #expect(lines[1] == "in memory\t\(cache.number(1)): no answer")
            #expect(lines.last == "in memory\tand 11 more: 11 no answer")
            let environment = [
                "STRATA_REDIS_URL": cache.server.url.replacing("://", with: "://looker@"),
                "STRATA_REDIS_PASSWORD": "pw",
            ]
            let refused = try await cache.run("why", "things", "a", "--format", "plain", environment: environment)
            #expect(refused.status.isSuccess, "\(refused.errorText)")
            #expect(refused.text.contains("in memory\tthe instances were not asked: this user may not ask them"))
            #expect(refused.text.contains("state\tfresh"))
            let none = try await cache.run("why", "things", "a", "--wait", "0", "--format", "plain")
            #expect(none.status.isSuccess && !none.text.contains("in memory"))
        }
    }
}
