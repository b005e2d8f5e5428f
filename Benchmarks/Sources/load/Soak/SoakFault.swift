/// What a soak's work has in it and what goes wrong, each to be switched by its name.
enum SoakFault: String, CaseIterable, Codable {
    // At the server.
    case serverStopped = "srv-stop"
    case serverKilledDataKept = "srv-kept"
    case serverKilledDataLost = "srv-lost"
    /// The server comes up with what it held some seconds before: what was removed since is back.
    case serverSetBack = "srv-old"
    /// A replica is promoted on purpose; by Sentinels it may lack what was confirmed last.
    case failover = "failover"
    /// A primary dies and stays away until its replica has taken over.
    case primaryKilled = "pri-kill"
    /// A primary stands still until its replica has taken over, and goes on as if nothing had been.
    case primaryStopped = "pri-stop"
    /// Slots move to another primary.
    case migration = "migrate"
    case callersKilled = "kill-cmd"
    case linksKilled = "kill-sub"
    case scriptsFlushed = "scripts"
    case everythingFlushed = "flushall"
    // In an instance.
    case instanceKilled = "ins-kill"
    case instanceStopped = "ins-stop"
    // On the way between them.
    case wayFrozen = "frozen"
    case connectionFrozen = "frozen-1"
    case halfFrozen = "frozen-h"
    case connectionsReset = "reset"
    /// Sets whose bytes are held past their deadline, and let go seconds later, after newer changes.
    case lateSets = "late-set"
    // By others, in the data.
    case marksRemoved = "mk-del"
    case marksOfOtherType = "mk-type"
    case marksAbsurd = "mk-num"
    case foreignLease = "fgn-lock"
    case foreignValue = "fgn-val"
    // Work that obliges as any other: no fault is marked for it.
    /// Reads that want something otherwise than usual.
    case options = "options"
    /// Changes by others while fetches and refreshes are under way, so that their stores are refused.
    case refusals = "refused"
    /// Callers that leave, at any moment and at that when their fetch has ended.
    case cancels = "cancels"
    /// Fetches that take longer than others want to wait.
    case slowFetches = "slow"
    /// Instances that raise the schema number one after the other.
    case schemaRoll = "schema"
    /// Values above what a reply may hold.
    case largeValues = "large"
    /// Keyspaces whose levels are made and dropped all the time.
    case keyspaces = "tenants"

    /// Where it happens; faults of different places overlap, those of one place come one after the other.
    enum Place: CaseIterable {
        case server
        case instance
        case way
        case data
        /// In what the instances do.
        case work

        /// Those where the driver causes something.
        static var ofDriver: [Place] { allCases.filter { $0 != .work } }
    }

    var place: Place {
        switch self {
        case .serverStopped, .serverKilledDataKept, .serverKilledDataLost, .serverSetBack, .failover, .primaryKilled,
            .primaryStopped, .migration, .callersKilled, .linksKilled, .scriptsFlushed, .everythingFlushed:
            .server
        case .instanceKilled, .instanceStopped: .instance
        case .wayFrozen, .connectionFrozen, .halfFrozen, .connectionsReset, .lateSets: .way
        case .marksRemoved, .marksOfOtherType, .marksAbsurd, .foreignLease, .foreignValue: .data
        case .options, .refusals, .cancels, .slowFetches, .schemaRoll, .largeValues, .keyspaces: .work
        }
    }

    /// Whether it can be caused there.
    ///
    /// Sentinels tell addresses that no proxy stands before. Where there are replicas, a server that comes up with what
    /// it held some seconds before makes its replica hold that, too: nothing tells that from what a failover may lose.
    func happens(on topology: SoakTopology) -> Bool {
        switch self {
        case .failover, .primaryKilled, .primaryStopped: topology != .single
        case .migration: topology == .cluster
        case .serverSetBack: topology == .single
        default: place != .way || topology != .sentinel
        }
    }

    /// How often it happens beside the others of its place.
    var weight: Int {
        switch self {
        case .serverStopped, .serverKilledDataKept, .serverKilledDataLost: 2
        case .callersKilled, .linksKilled, .scriptsFlushed, .failover, .primaryKilled, .primaryStopped, .foreignLease,
            .foreignValue:
            3
        case .migration: 5
        case .lateSets: 2
        default: 1
        }
    }

    /// Draws one that happens in a place.
    static func next(
        in place: Place,
        of allowed: [SoakFault],
        using random: inout some RandomNumberGenerator
    ) -> SoakFault? {
        let faults = allowed.filter { $0.place == place }
        let total = faults.reduce(0) { $0 + $1.weight }
        guard total > 0 else { return nil }
        var ticket = Int.random(in: 0..<total, using: &random)
        for fault in faults {
            if ticket < fault.weight { return fault }
            ticket -= fault.weight
        }
        return nil
    }
}
