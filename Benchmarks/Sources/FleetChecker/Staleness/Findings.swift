/// What the check of key after key has gathered.
struct Findings {
    private(set) var counts: [ViolationKind: Int] = [:]
    private var examples: [ViolationKind: [(start: UInt64, violation: Violation)]] = [:]
    private var samples: [ReadClass: StalenessSamples] = [:]
    var fetches = FetchCounts()
    var failovers = FailoverCounts()
    var repeated = 0
    private let examplesPerKind: Int

    init(examplesPerKind: Int) {
        self.examplesPerKind = max(0, examplesPerKind)
    }

    /// Counts a violation; keeps it as an example if it is among the first of its kind in time.
    ///
    /// It is put into words only then: a history may break a promise a million times.
    mutating func report(_ kind: ViolationKind, start: UInt64, _ violation: () -> Violation) {
        counts[kind, default: 0] += 1
        var kept = examples[kind] ?? []
        let place = kept.firstIndexOfSorted { $0.start > start }
        guard place < examplesPerKind else { return }
        kept.insert((start, violation()), at: place)
        if kept.count > examplesPerKind { kept.removeLast() }
        examples[kind] = kept
    }

    mutating func add(age: UInt64, to readClass: ReadClass) {
        samples[readClass, default: StalenessSamples()].add(age)
    }

    func violations() -> [Violation] {
        ViolationKind.allCases.flatMap { kind in (examples[kind] ?? []).map(\.violation) }
    }

    func distributions() -> [ReadClass: StalenessDistribution] {
        samples.mapValues { $0.distribution() }
    }
}
