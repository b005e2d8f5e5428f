import StrataRedis

/// An event of a keyspace in one line.
struct WatchLine: Encodable {
    /// The time on this machine, in UTC.
    let time: String
    /// `changed`, `removed`, `fetching`, `failed`, `released`, `ended`, `tags`, `cleared`, `flushed`, `listening`,
    /// `lost`, `leftOut`.
    let event: String
    let key: JSONKey?
    let tags: [String]?
    /// The instance that fetches.
    let holder: String?
    /// What the last fetch has failed with.
    let failure: String?
    let count: Int?
    private let subject: String

    private enum CodingKeys: CodingKey { case time, event, key, tags, holder, failure, count }

    /// - Parameters:
    ///   - event: The event.
    ///   - lease: The lease of a key whose lease has changed; `nil` when there is none any more.
    ///   - now: Milliseconds of this machine's clock since 1970.
    init(_ event: WatchEvent, lease: LeaseInspection?, now: Int64) {
        time = Timestamp.text(now) ?? "\(now)"
        var key: InspectedKey?
        var tags: [String]?
        var count: Int?
        var detail = ""
        switch event {
        case .listening: self.event = "listening"
        case .lost: self.event = "lost"
        case .changed(let changed): (self.event, key) = ("changed", changed)
        case .removed(let removed): (self.event, key) = ("removed", removed)
        case .ended(let ended): (self.event, key) = ("ended", ended)
        case .lease(let changed):
            key = changed
            guard let lease else {
                self.event = "released"
                break
            }
            self.event = lease.failure == nil ? "fetching" : "failed"
            detail = lease.failure == nil ? " by \(LeaseText.holder(of: lease))" : " \(LeaseText.failure(lease))"
        case .tags(let names):
            (self.event, tags) = ("tags", names)
            detail = names.isEmpty ? "more than a message holds" : names.joined(separator: " ")
        case .cleared: self.event = "cleared"
        case .flushed: self.event = "flushed"
        case .leftOut(let events):
            (self.event, count) = ("leftOut", events)
            detail = Quantity.text(events, "event")
        }
        self.key = key.map { JSONKey($0) }
        self.tags = tags
        self.count = count
        holder = lease?.holder
        failure = lease?.failure?.message
        subject = (key?.escaped ?? "") + detail
    }

    /// The line for a person; two where the terminal is too narrow for one.
    func lines(within width: Int?) -> [String] {
        let clock = String(time.dropFirst(11))
        let name = event == "leftOut" ? "left out" : event
        let line = "\(clock)  \(name.padded(to: 9))  \(subject)"
        guard let width, DisplayWidth.of(line) > width, !subject.isEmpty else { return [line.trimmed] }
        return ["\(clock)  \(name)"] + WordWrap.lines(subject, within: width - 2).map { "  " + $0 }
    }

    /// The cells of a line for other programs.
    var cells: [String] { [time, event, subject] }
}

extension String {
    /// The text with spaces behind it.
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The text without spaces at its end.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
