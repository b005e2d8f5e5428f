import StrataRedis

// MARK: What this user and this machine can do with the server

extension Diagnosis {
    static func tracking(_ facts: ServerFacts) -> Finding {
        switch facts.tracking {
        case .success: return .ok("tracking", "instances can hear of changes (CLIENT TRACKING)")
        case .failure(let refusal) where refusal.isOfRights:
            return .unknown("tracking", refusal)
        case .failure(let refusal):
            return .warning(
                "tracking",
                "the server refuses \(refusal.command) with REDIRECT: instances keep values in memory for a short time only",
                "Use Redis 6.2 or Valkey 7.2, or newer, without a proxy, and no service that lacks CLIENT TRACKING."
            )
        }
    }

    static func permissions(_ facts: CacheFacts) -> [Finding] {
        let lacks: [CacheFacts.Lack]
        switch facts.lacks {
        case .failure(let refusal): return [.unknown("permissions", refusal)]
        case .success(let found): lacks = found
        }
        let fitsOne = lacks.contains { $0.rules.isEmpty }
        return lacks.map { lack in
            let purpose = "'\(lack.purpose.rawValue)'"
            guard !lack.rules.isEmpty else {
                return .ok("permissions", "this user may do all that the purpose \(purpose) needs")
            }
            let rules = lack.rules.map { PrintableText.escape(Array($0.utf8)) }.joined(separator: " ")
            let text = "for the purpose \(purpose) this user lacks \(rules)"
            let advice = "`stratactl acl --for \(lack.purpose.rawValue)` prints all that it needs."
            // Where the purpose is not said, one of those that were tried suffices.
            return facts.hasPurpose || !fitsOne
                ? .warning("permissions", text, advice)
                : .note("permissions", text, "That is fine if the user is for something else. \(advice)")
        }
    }

    static func clock(_ clock: ServerFacts.Told<ServerFacts.Clock>) -> Finding {
        switch clock {
        case .failure(let refusal): return .unknown("clock", refusal)
        case .success(let clock):
            let distance = clock.ahead.magnitude
            let exactness = "± \(TimeSpan.text(seconds: clock.exactness))"
            // Both machines may be right then.
            guard distance > max(clock.exactness, 0.01) else {
                return .ok("clock", "the same as this machine's, \(exactness)")
            }
            let side = clock.ahead > 0 ? "ahead of" : "behind"
            let text = "\(TimeSpan.text(seconds: distance)) \(side) this machine's, \(exactness)"
            if distance > 86_400 {
                return .warning(
                    "clock",
                    "\(text): one of the two is wrong",
                    "Set it right. Lifetimes go by the server's clock, and numbers of invalidations by its date."
                )
            }
            guard distance > 1 else { return .ok("clock", text) }
            return .note("clock", "\(text): Strata goes by the server's, but logs are hard to compare")
        }
    }

    static func latency(_ roundTrips: [Double]) -> Finding {
        let sorted = roundTrips.sorted()
        guard let worst = sorted.last else { return .note("latency", "no PING was sent") }
        let median = sorted[sorted.count / 2]
        let text =
            "\(TimeSpan.text(seconds: median)) median and \(TimeSpan.text(seconds: worst)) worst of "
            + Quantity.text(sorted.count, "PING")
        // A call of a cache may spend 500 ms on Redis.
        if median > 0.05 || worst > 0.25 {
            return .warning(
                "latency",
                "\(text), from here",
                "From an instance it should be a few milliseconds: look at SLOWLOG GET, the network and the load."
            )
        }
        guard median > 0.005 else { return .ok("latency", text) }
        return .note("latency", "\(text), from here", "Instances should be nearer to the server.")
    }

    /// Most keyspaces that are named one by one.
    private static let mostNamed = 10

    static func marks(_ facts: CacheFacts) -> [Finding] {
        let marks: [MarksInspection]
        switch facts.marks {
        case .failure(let refusal): return [.unknown("marks", refusal)]
        case .success(let found): marks = found
        }
        guard !marks.isEmpty else {
            return [
                .note(
                    "marks",
                    "no keyspace with the prefix is in use",
                    "`stratactl keyspaces --all-prefixes` shows all."
                )
            ]
        }
        let now = facts.servers.lazy.compactMap { try? $0.clock.get().server }.first
        var findings: [[Finding]] = []
        var rest = marks[...]
        while let first = rest.first {
            let own = rest.prefix { $0.keyspace == first.keyspace }
            findings.append(judged(Array(own), now: now))
            rest = rest.dropFirst(own.count)
        }
        if findings.count == 1 { return findings[0] }
        let notable = findings.filter { $0.contains { $0.severity != .ok } }
        let count = findings.count - notable.count
        let more = facts.hasMoreMarks ? "; there are more, which were not looked at" : ""
        let summary = "those of \(Quantity.text(count, "keyspace")) are sound\(more)"
        var shown: [Finding] = count > 0 ? [.ok("marks", summary)] : []
        shown += notable.prefix(mostNamed).joined()
        if notable.count > mostNamed {
            let rest = Quantity.text(notable.count - mostNamed, "more keyspace")
            let isBad = notable.dropFirst(mostNamed).joined().contains { $0.severity == .warning }
            let advice = "Name a keyspace to see its state."
            shown.append(isBad ? .warning("marks", rest, advice) : .note("marks", rest, advice))
        }
        return shown
    }

    /// Further than this from the server's clock, instances begin the numbers anew.
    private static let year: Int64 = 31_622_400_000_000
    /// So many tags are forgotten little by little.
    private static let manyTags = 65_536

    private enum State: Hashable {
        case sound, absent, damaged, strange, unlimited
        case otherType(String)
        case crowded
    }

    private static func state(of marks: MarksInspection, now: Int64?) -> State {
        switch marks.state {
        case .absent: return .absent
        case .otherType(let type): return .otherType(PrintableText.escape(Array(type.utf8)))
        case .broken: return .damaged
        case .sound(let numbers):
            if let now, (Int64(clamping: numbers.sequence) - now).magnitude > UInt64(year) { return .strange }
            if marks.timeToLive == .unlimited { return .unlimited }
            return tags(of: marks) < manyTags ? .sound : .crowded
        }
    }

    private static func tags(of marks: MarksInspection) -> Int { max(0, marks.fields - 2) }

    /// What there is to say of a keyspace's marks: of the whole, or of all parts that are alike.
    static func judged(_ marks: [MarksInspection], now: Int64?) -> [Finding] {
        let groups = Dictionary(grouping: marks) { state(of: $0, now: now) }
        return groups.sorted { ($0.value.first?.part ?? 0) < ($1.value.first?.part ?? 0) }
            .compactMap { state, some in
                // A part has none until one of its keys is read, and sound parts are not listed beside others.
                if state == .absent || state == .sound, !isAll(some, marks, state, groups) { return nil }
                return finding(state, some, of: marks.count)
            }
    }

    private static func isAll(
        _ some: [MarksInspection],
        _ marks: [MarksInspection],
        _ state: State,
        _ groups: [State: [MarksInspection]]
    ) -> Bool {
        some.count == marks.count || state == .sound && groups.keys.allSatisfy { $0 == .sound || $0 == .absent }
    }

    private static func finding(_ state: State, _ marks: [MarksInspection], of count: Int) -> Finding {
        let name = RemovalResult.printable(marks[0].keyspace)
        let parts = marks.compactMap { $0.part.map { String($0) } }
        let isWhole = state == .sound || marks.count == count
        let subject = isWhole ? name : "\(name), part \(parts.joined(separator: ", ")) of \(count)"
        let void = "the next read by an instance voids \(isWhole ? "the keyspace" : "that part of it")"
        let advice = "Look at eviction and persistence above, and for another program that writes under the prefix."
        switch state {
        case .sound: return .ok("marks", "those of \(subject) are sound")
        case .absent:
            return .note("marks", "\(subject) has no numbers of invalidations: not used for a month, or evicted")
        case .otherType(let type):
            return .warning("marks", "those of \(subject) are a value of the Redis type \(type): \(void)", advice)
        case .damaged: return .warning("marks", "those of \(subject) are damaged: \(void)", advice)
        case .strange:
            return .warning("marks", "those of \(subject) are a year from the server's clock: \(void)", advice)
        case .unlimited: return .note("marks", "those of \(subject) have no time to live: another program removed it")
        case .crowded:
            let most = marks.map { tags(of: $0) }.max() ?? 0
            return .note(
                "marks",
                "those of \(subject) are sound; \(most) tags are too many to keep: the oldest void too much",
                "Use fewer tags that are invalidated only once; a sweep forgets old ones."
            )
        }
    }
}
