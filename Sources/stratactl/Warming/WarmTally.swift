import Strata
import StrataRedis

/// The outcome of keys that instances were asked to read.
struct WarmTally: Sendable {
    /// What one instance has acknowledged.
    struct Instance: Sendable {
        let name: String
        /// How many keys it has answered for.
        var keys = 0
        var counts: [WarmAnswer.Outcome: Int] = [:]
        /// How often it did not answer in time.
        var silences = 0
        /// Whether its answers make no sense.
        var isUnusable = false
        /// Whether it reads no keys that it is asked for, and others may.
        var isUnwilling = false

        /// Whether it is asked for more.
        var isAsked: Bool { silences < WarmTally.mostSilences && !isUnusable && !isUnwilling }

        func count(_ outcome: WarmAnswer.Outcome) -> Int { counts[outcome] ?? 0 }
    }

    /// By number.
    var instances: [String: Instance]
    /// Keys that could not be read, with their outcomes; ``mostFailures`` at most.
    var failures: [(key: [UInt8], outcome: String)] = []
    /// Keys for which no instance has answered.
    var unanswered = 0

    static let mostFailures = 1000
    /// An instance that did not answer so often is asked no more.
    static let mostSilences = 2

    init(_ instances: [FleetInstance]) {
        self.instances = Dictionary(
            instances.map { ($0.number, Instance(name: $0.record?.name ?? $0.number)) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    func total(_ outcome: WarmAnswer.Outcome) -> Int { instances.values.reduce(0) { $0 + $1.count(outcome) } }

    /// How many keys are there now, or are known to have no value.
    var done: Int { total(.fetched) + total(.found) + total(.absent) }

    /// How many keys have failed, or were refused.
    var failed: Int { instances.values.reduce(0) { $0 + $1.keys } - done }

    /// Takes an answer down.
    ///
    /// - Returns: The keys that the instance has not read, and another may.
    mutating func note(_ answer: WarmAnswer, to keys: [[UInt8]], by number: String) -> [[UInt8]] {
        var rest: [[UInt8]] = []
        let isOther = instances.contains { $0.key != number && $0.value.isAsked }
        for (key, outcome) in zip(keys, answer.outcomes) {
            guard let outcome else {
                fail(key, "an answer of a later release", number)
                continue
            }
            switch outcome {
            case .busy: rest.append(key)
            case .fetched, .found, .absent:
                instances[number]?.keys += 1
                instances[number]?.counts[outcome, default: 0] += 1
            case .refused where isOther, .sourceless where isOther:
                instances[number]?.isUnwilling = true
                rest.append(key)
            case .failed, .refused, .unreadable, .sourceless:
                instances[number]?.counts[outcome, default: 0] += 1
                fail(key, Self.text(outcome), number)
            }
        }
        return rest
    }

    private mutating func fail(_ key: [UInt8], _ outcome: String, _ number: String) {
        instances[number]?.keys += 1
        if failures.count < Self.mostFailures { failures.append((key, outcome)) }
    }

    static func text(_ outcome: WarmAnswer.Outcome) -> String {
        switch outcome {
        case .fetched: "fetched"
        case .found: "found"
        case .absent: "no value"
        case .failed: "the read has failed"
        case .busy: "not read"
        case .refused: "the instance does not read keys on request"
        case .unreadable: "not a key of the instance's type"
        case .sourceless: "the cache has no source of its own"
        }
    }
}
