import StrataRedis

/// What a read that asks Redis gets, and what can be done about it.
struct ReadVerdict {
    enum Outcome: String {
        /// The stored value.
        case served
        /// The stored value where the policy allows stale ones; it is fetched anew.
        case stale
        /// A value that is fetched by this read.
        case fetched
        /// A value that is being fetched by another instance.
        case waits
        /// The failure of the last fetch.
        case failed
    }

    let outcome: Outcome

    /// The colour in which a person sees it.
    var tint: Tint {
        switch outcome {
        case .served: .good
        case .stale, .fetched, .waits: .notice
        case .failed: .warning
        }
    }

    /// The outcome in words.
    let text: String
    /// What to do next; one sentence or two each.
    let advice: [String]

    init(_ found: KeyExplanation) {
        outcome = Self.outcome(of: found)
        text = Self.text(of: found, outcome)
        advice = Self.advice(on: found, outcome)
    }

    private static func outcome(of found: KeyExplanation) -> Outcome {
        switch found.entry?.state {
        case .fresh: return .served
        case .stale: return .stale
        case .expired, .void, .unusable, nil:
            return switch found.lease?.standing {
            case .held: .waits
            case .backOff: .failed
            case .remembered, .ignored, nil: .fetched
            }
        }
    }

    private static func text(of found: KeyExplanation, _ outcome: Outcome) -> String {
        let reason =
            switch found.entry?.state {
            case nil: "nothing is stored"
            case .fresh: "it is fresh"
            case .stale: "it is stale"
            case .expired: "what is stored has expired"
            case .void: "what is stored is void"
            case .unusable: "what is stored is unusable"
            }
        switch outcome {
        case .served: return "gets the stored value: \(reason)"
        case .stale: return "gets the stored value if its policy allows stale ones, and fetches: \(reason)"
        case .fetched: return "fetches from the source: \(reason)"
        case .waits: return "waits for \(LeaseText.holder(of: found.lease)), who fetches: \(reason)"
        case .failed: return "gets the failure of the last fetch: \(reason), and the back-off has not ended"
        }
    }

    private static func advice(on found: KeyExplanation, _ outcome: Outcome) -> [String] {
        var advice: [String] = []
        switch found.entry?.state {
        case .fresh:
            advice.append(
                "Is the value older than the source's? Then the code that changed the source did not call remove "
                    + "or invalidate(tag:), or that call failed. `stratactl remove` removes it everywhere."
            )
        case .stale:
            advice.append("It stays stale only while its fetch fails or is slow: see lease and failure.")
        case .expired: advice.append("Nothing: Redis drops it at the end of its time to live.")
        case .void:
            advice.append(
                found.entry?.invalidation == .marksLost
                    ? "The next read by an instance voids the keyspace. `stratactl doctor` says why."
                    : "Nothing: the next fetch replaces it. `stratactl sweep` frees its memory sooner."
            )
        case .unusable: advice.append(adviceOnUnusable(found.entry))
        case nil:
            advice.append(
                "It was never stored, has expired, was removed, or was evicted, which `stratactl doctor` shows."
            )
        }
        switch found.lease?.standing {
        case .held: advice.append("A lease that is renewed and never ends is a fetch that hangs: look at its holder.")
        case .backOff, .remembered:
            advice.append("Look at the source. `stratactl remove` ends the back-off.")
        case .ignored: advice.append("Another program has written the lease: find it.")
        case nil: break
        }
        if outcome == .served || outcome == .stale {
            advice.append("An instance may hold another value in its memory: getWithTrace in that instance shows it.")
        }
        return advice
    }

    private static func adviceOnUnusable(_ entry: EntryInspection?) -> String {
        guard case .envelope(let envelope) = entry?.content else {
            return "Another program writes under this keyspace: find it."
        }
        switch envelope.fault {
        case .newerFormat, .newerSchema: return "A later release has written it, and only that one reads it."
        case .otherKey: return "Something has copied it from another key, such as RENAME or COPY: find it."
        default: return "The next fetch replaces it. If the damage comes back, another program or the server causes it."
        }
    }
}
