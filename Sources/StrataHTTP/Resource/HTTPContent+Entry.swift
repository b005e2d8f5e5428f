internal import Strata

extension HTTPContent {
    /// The entry of what has just arrived; one that must not be stored is kept by no level above.
    func entry(arrivedAt now: MonotonicInstant, took: Duration) -> Entry<HTTPContent> {
        lifetime.entry(.value(self), arrivedAt: now, took: took)
    }
}

extension HTTPLifetime {
    func entry(
        _ content: Entry<HTTPContent>.Content,
        arrivedAt now: MonotonicInstant,
        took: Duration
    ) -> Entry<HTTPContent> {
        let end = now.advanced(by: .seconds(freshFor - staleFor))
        return Entry(
            content,
            freshUntil: end,
            staleUntil: end.advanced(by: .seconds(staleIfError)),
            storedAt: now,
            fetchDuration: took,
            ticket: isStorable ? .none : .void
        )
    }
}
