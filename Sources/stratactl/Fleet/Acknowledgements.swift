import Strata
import StrataRedis

/// Which instances have heard of an invalidation.
struct Acknowledgements {
    /// What an instance has said.
    private enum State {
        /// It knows of the invalidation: its memory serves nothing that is older.
        case told
        /// It has answered, and does not know of it yet.
        case pending
        /// It has no link, and asks Redis for each entry, or trusts its memory for a set time.
        case unlinked
        /// Its link does not stand; why.
        case untold(String)
        /// It did not answer in time.
        case silent
        /// Its record or its answer cannot be read.
        case unusable

        /// The name in JSON.
        var name: String {
            switch self {
            case .told: "told"
            case .pending: "pending"
            case .unlinked: "unlinked"
            case .untold: "untold"
            case .silent: "silent"
            case .unusable: "unusable"
            }
        }

        /// Whether another answer may say more.
        var isOpen: Bool {
            switch self {
            case .pending, .silent: true
            case .told, .unlinked, .untold, .unusable: false
            }
        }

        var text: String {
            switch self {
            case .told: "has heard"
            case .pending: "has not heard yet"
            case .unlinked: "does not hear of changes, or runs an older release"
            case .untold(let reason): "its link is down: \(InstanceText.printable(reason))"
            case .silent: "no answer"
            case .unusable: "an answer that cannot be read"
            }
        }
    }

    private struct Row: Encodable {
        let number: String
        let name: String
        let state: String
        /// In words.
        let text: String
        let isTold: Bool

        private enum CodingKeys: CodingKey { case number, name, state }

        init(_ instance: FleetInstance, _ state: State) {
            number = instance.number
            name = InstanceText.name(of: instance)
            self.state = state.name
            text = state.text
            isTold = state.name == "told"
        }
    }

    /// How long the answers to one question are waited for.
    private static let round = Duration.milliseconds(250)

    /// By name.
    private var rows: [Row] = []
    /// Why they were not asked; `nil` when they were, or when there are none.
    private(set) var refusal: String?

    /// Asks all that are listed until they have heard, or the time is over.
    ///
    /// - Parameters:
    ///   - numbers: The number of the invalidation in each part of the keyspace.
    ///   - redis: The server.
    ///   - keyspace: The keyspace.
    ///   - limit: How long to wait.
    /// - Returns: What they have said.
    /// - Throws: `CancellationError`. What the server says is no failure of the invalidation, which is done.
    static func take(
        of numbers: [UInt64],
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        within limit: Duration
    ) async throws -> Acknowledgements {
        var found = Acknowledgements()
        let fleet = FleetInspector(redis, keyspace)
        let end = MonotonicInstant.now.advanced(by: limit)
        do {
            let instances = try await fleet.instances().instances
            guard !instances.isEmpty else { return found }
            var states: [String: State] = [:]
            while true {
                let open = instances.filter { states[$0.number].map { $0.isOpen } ?? true }
                let left = max(MonotonicInstant.now.duration(to: end), .milliseconds(1))
                // One that is gone keeps no other from being asked again.
                let answers = try await fleet.figures(of: open, hottest: 0, within: min(left, round))
                for instance in open { states[instance.number] = state(answers[instance.number] ?? .none, numbers) }
                guard states.values.contains(where: \.isOpen), .now < end else { break }
                try await Task.pause(for: .milliseconds(50))
            }
            found.rows = instances.map { Row($0, states[$0.number] ?? .silent) }
        } catch let error as RedisError where error.serverMessage?.hasPrefix("NOPERM") == true {
            found.refusal = "this user may not ask them: `stratactl acl --for inspect` prints what it lacks"
        } catch let error as RedisError {
            found.refusal = error.description
        }
        return found
    }

    private static func state(_ answer: FleetInspector.Answer<InstanceRecord>, _ numbers: [UInt64]) -> State {
        switch answer {
        case .none: return .silent
        case .unusable: return .unusable
        case .content(let record):
            guard let known = record.numbers, known.count == numbers.count else { return .unlinked }
            if zip(known, numbers).allSatisfy({ $0 >= $1 }) { return .told }
            return record.link.map { .untold($0) } ?? .pending
        }
    }

    /// How many have heard.
    private var told: Int { rows.count { $0.isTold } }

    /// What a person should know, one line; `nil` if all have heard, or there are none.
    var remark: String? {
        if let refusal { return "the instances were not asked: \(refusal)" }
        guard told < rows.count else { return nil }
        return "\(rows.count - told) of \(Quantity.text(rows.count, "instance")) "
            + "\(rows.count - told == 1 ? "has" : "have") not said that the invalidation was heard"
    }

    /// Prints a line for each.
    func print(in format: OutputOptions.Format) {
        guard !rows.isEmpty else { return }
        if format == .plain { return StandardOutput.cells(rows.map { ["instance", $0.name, $0.state] }) }
        var table = Table(.left("INSTANCE"), .left("THE INVALIDATION"))
        table.rows = rows.map { [$0.name, $0.text] }
        for (number, row) in rows.enumerated() { table.tints[number] = row.isTold ? .good : .warning }
        StandardOutput.lines([""])
        StandardOutput.table(table)
    }

    /// The rows in JSON.
    var json: [some Encodable] { rows }
}
