extension HTTPLifetime {
    /// That of what a redirect has led to, as far as the redirect allows; one that says nothing of caching bounds
    /// nothing.
    ///
    /// - Parameters:
    ///   - redirect: The header fields of the redirect.
    ///   - rules: How responses are judged.
    /// - Returns: The shorter of both in all that the redirect speaks of.
    func bounded(by redirect: HTTPFields, _ rules: Rules) -> HTTPLifetime {
        let control = Self.control(redirect, rules)
        let saysAnything =
            Self.isExplicit(redirect, rules) || ["no-store", "no-cache", "private"].contains(where: control.has)
            || HTTPVary(redirect) == .everything
        guard saysAnything else { return self }
        // As one that may be stored without a word: what it says decides.
        let bound = HTTPLifetime(status: 301, fields: redirect, rules: rules)
        return HTTPLifetime(
            isStorable: isStorable && bound.isStorable,
            freshFor: min(freshFor, bound.freshFor),
            staleWhileRevalidate: min(staleWhileRevalidate, bound.staleWhileRevalidate),
            staleIfError: min(staleIfError, bound.staleIfError),
            age: age,
            staleFor: max(staleFor, bound.staleFor),
            isStrict: isStrict || bound.isStrict
        )
    }
}
