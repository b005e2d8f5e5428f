/// What goes wrong in a soak.
enum SoakFault: String, CaseIterable {
    // At the server.
    case serverStopped = "srv-stop"
    case serverKilledDataKept = "srv-kept"
    case serverKilledDataLost = "srv-lost"
    /// The server comes up with what it held some seconds before: what was removed since is back.
    case serverSetBack = "srv-old"
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

    /// Where it happens; faults of different places overlap, those of one place come one after the other.
    enum Place: CaseIterable {
        case server
        case instance
        case way
    }

    var place: Place {
        switch self {
        case .serverStopped, .serverKilledDataKept, .serverKilledDataLost, .serverSetBack, .callersKilled, .linksKilled,
            .scriptsFlushed, .everythingFlushed:
            .server
        case .instanceKilled, .instanceStopped: .instance
        case .wayFrozen, .connectionFrozen, .halfFrozen, .connectionsReset: .way
        }
    }

    /// How often it happens beside the others of its place.
    var weight: Int {
        switch self {
        case .serverStopped, .serverKilledDataKept, .serverKilledDataLost: 2
        case .serverSetBack: 1
        case .callersKilled, .linksKilled, .scriptsFlushed: 3
        case .everythingFlushed: 1
        case .instanceKilled, .instanceStopped, .wayFrozen, .connectionFrozen, .halfFrozen, .connectionsReset: 1
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
