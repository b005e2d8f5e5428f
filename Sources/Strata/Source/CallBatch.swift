/// The source of several keys that a call brings with it.
///
/// As ``CallSource`` it is carried down by the read, to the level that runs fetches, which asks it once for all keys
/// that no level has. It knows the keys by their names at the level that is asked now: a level that gives them other
/// names gives it other names, too.
package final class CallBatch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Asks for several keys; one that is missing in the answer has no value.
    let fetch: Fetch<Key, Value>.Several

    /// - Parameter fetch: Asks for several keys; one that is missing in the answer has no value.
    init(_ fetch: @escaping Fetch<Key, Value>.Several) { self.fetch = fetch }

    /// This source for one of the keys.
    func source(of key: Key) -> CallSource<Value> {
        CallSource(outcome: { [fetch] context in try await fetch([key: context])[key] ?? .absent() })
    }

    private func renamed<Name: Hashable & Sendable>(_ keys: [Key], to names: [Name]) -> CallBatch<Name, Value> {
        let keys = Dictionary(zip(names, keys)) { first, _ in first }
        return CallBatch<Name, Value> { [fetch] contexts in
            var asked: [Key: FetchContext<Value>] = [:]
            for (name, context) in contexts { if let key = keys[name] { asked[key] = context } }
            let found = try await fetch(asked)
            var answers: [Name: FetchOutcome<Value>] = [:]
            for name in contexts.keys { answers[name] = keys[name].flatMap { found[$0] } }
            return answers
        }
    }
}

extension CallBatch: AnyCallSource {
    package func asking(for key: some Hashable & Sendable) -> any AnyCallSource {
        guard let key = key as? Key else { return self }
        return source(of: key)
    }

    package func renaming<Other: Hashable & Sendable>(
        _ keys: [Other],
        to names: [some Hashable & Sendable]
    ) -> any AnyCallSource {
        guard let keys = keys as? [Key] else { return self }
        return renamed(keys, to: names)
    }
}
