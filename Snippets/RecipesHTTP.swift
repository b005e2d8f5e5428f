// The samples of docs/recipes.md that take StrataHTTP; `.ci/snippets` compares the two.

import Strata
import StrataDisk

#if canImport(StrataHTTP) && HTTP
import StrataHTTP
#endif

#if canImport(StrataHTTP) && HTTP && Disk
func httpSource() async throws {
    // snippet.recipe-http
    let store = DiskStore(path: "/var/cache/shop/http.sqlite")
    let responses = HTTPCache(in: DiskLevel(store, namespace: "http"), HTTPFetcher())
    let pages = MemoryLevel<HTTPResource, HTTPContent>(limit: .cost(64 << 20))
        .compose(responses.pooled())

    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await responses.run() }  // fetches again what was served stale
        let page = try await pages.get(HTTPResource("https://example.com/"))
        print(page?.contentType ?? "none", page?.body.count ?? 0)
        group.cancelAll()
    }
    // snippet.end
}

func httpProxy(origin: String, path: String, fields: HTTPFields) async throws -> HTTPCacheResponse {
    // snippet.recipe-http-whole
    let memory = MemoryLevel<HTTPResource, HTTPContent>(limit: .cost(64 << 20))
    let responses = HTTPCache(in: memory, HTTPFetcher())

    let request = HTTPCacheRequest(method: "GET", origin + path, fields: fields)  // as the caller sent it
    let response = try await responses.respond(to: request)
    print(response.status, response.source, response.age ?? 0)
    // snippet.end
    return response
}
#endif
