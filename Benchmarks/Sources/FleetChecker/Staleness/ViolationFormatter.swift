/// Puts a violation into words.
struct ViolationFormatter {
    let instances: [String]
    /// The time of the history's first event.
    let origin: UInt64

    /// A read that broke a promise.
    func violation(
        _ kind: ViolationKind,
        _ get: HistoryEvent,
        version: UInt64,
        staleness: UInt64? = nil,
        _ what: String
    ) -> Violation {
        let marks =
            switch (get.marks.contains(.stale), get.marks.contains(.suspect)) {
            case (true, true): ", marked stale and suspect"
            case (true, false): ", marked stale"
            case (false, true): ", marked suspect"
            case (false, false): ""
            }
        let level = get.level == .unknown ? "" : ", from \(get.level)\(marks.isEmpty ? "," : "")"
        return Violation(
            kind,
            key: get.key,
            instance: name(get.instance),
            start: get.start.subtractingSaturating(origin),
            version: version,
            staleness: staleness,
            description: "key \(get.key): a get by instance \(name(get.instance)) at \(time(get.start))\(level)"
                + "\(marks)\(marks.isEmpty ? "" : ",") \(what)"
        )
    }

    /// A fetch that ran beside another instance's.
    func violation(_ fetch: HistoryEvent, beside other: HistoryEvent) -> Violation {
        Violation(
            .doubleFetch,
            key: fetch.key,
            instance: name(fetch.instance),
            start: fetch.start.subtractingSaturating(origin),
            version: fetch.version,
            staleness: nil,
            description: "key \(fetch.key): instance \(name(fetch.instance)) began to fetch at \(time(fetch.start)), "
                + "\(span(fetch.start - other.start)) after instance \(name(other.instance)) "
                + "and \(span(other.end - fetch.start)) before that one's fetch ended, "
                + "with no invalidation or fault between"
        )
    }

    func name(_ instance: UInt32) -> String {
        Int(instance) < instances.count ? instances[Int(instance)] : "\(instance)"
    }

    /// What a version is called.
    func version(_ version: UInt64) -> String {
        version == 0 ? "absence" : "version \(version)"
    }

    func time(_ time: UInt64) -> String {
        let relative = time.subtractingSaturating(origin)
        return "+\(relative / 1_000_000_000).\(padded(relative / 1_000 % 1_000_000, 6)) s"
    }

    /// Nanoseconds as milliseconds to the microsecond.
    func span(_ nanoseconds: UInt64) -> String {
        "\(nanoseconds / 1_000_000).\(padded(nanoseconds / 1_000 % 1_000, 3)) ms"
    }

    private func padded(_ number: UInt64, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
