/// What is looked up and asked for: the key of a URL's responses, and the request by which one is chosen.
struct HTTPTarget: Hashable, Sendable {
    var request: HTTPCacheRequest

    init(_ request: HTTPCacheRequest) {
        self.request = request
    }

    /// Where the response is kept, or the list of those that vary.
    var base: HTTPResource { HTTPResource(exchangeAt: request.url) }

    var hasCookies: Bool { !request.fields.values(of: "cookie").isEmpty }

    /// The key of the response that is chosen by these names.
    func key(_ variants: HTTPVariants, _ names: [String]) -> HTTPResource {
        HTTPResource(variantOf: base, variants.generation, HTTPVary.selecting(names, of: request.fields))
    }
}

/// What is to be refreshed in the background; the same when it is kept under the same key.
struct HTTPRefresh: Hashable, Sendable {
    var key: HTTPResource
    /// The whole request; `nil` for a value of a resource.
    var target: HTTPTarget?

    static func == (one: HTTPRefresh, other: HTTPRefresh) -> Bool { one.key == other.key }

    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
