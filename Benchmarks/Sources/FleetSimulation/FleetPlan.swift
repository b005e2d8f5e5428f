/// What is simulated: a fleet, its Redis, and its source.
public struct FleetPlan: Sendable {
    /// Of which changes Redis tells the instances.
    public enum Tracking: String, Sendable, CaseIterable {
        /// Of every change.
        case broadcast
        /// Of changes of what they have read.
        case perKey = "per-key"
    }

    /// Redis is away for some time, and comes back without data.
    public struct Outage: Sendable {
        public var begin: Double
        public var seconds: Double

        public init(begin: Double, seconds: Double) {
            (self.begin, self.seconds) = (begin, seconds)
        }
    }

    public var instances = 100
    /// Reads a second of each instance.
    public var rate = 20.0
    public var keys = 500
    /// Sets a second of the whole fleet.
    public var writes = 0.0
    /// How long a value is fresh, in seconds.
    public var freshFor = 3_600.0
    /// Servers among which the keys are spread evenly; each instance has two connections to each.
    public var servers = 1
    public var tracking = Tracking.broadcast
    /// Calls that the source takes at a time; others wait in a line.
    public var room = 100
    /// How long a call of the source takes, in seconds.
    public var fetch = 0.02
    /// One way between an instance and a server, with what both kernels need for it, in seconds.
    public var delay = 0.000_05
    /// For how long memory keeps what was read while there was no link, in seconds.
    public var unheard = 3.0
    /// What is simulated, in seconds.
    public var seconds = 10.0
    /// What is not counted at the beginning, in seconds.
    public var warmUp = 0.0
    public var outage: Outage?
    public var costs = ServerCosts()

    public init() {}
}

/// The processor time of a server, in microseconds.
///
/// Measured with Redis 7.0.15 over TCP on one machine (AMD EPYC), by INFO cpu before and after. A round is one turn of
/// the server's loop: it runs the commands that have come, then writes the notices and the answers.
public struct ServerCosts: Sendable {
    /// A round in which one command has come costs 8 µs with a GET, a further GET in it 5.
    public var round = 3.0
    /// GET, SET, PING: read, parsed, run, answered.
    public var command = 5.0
    /// The script that reads a value or gives the lease.
    public var lease = 9.5
    /// The script that stores a fetched value, and the one that stores a value that was set.
    public var store = 8.5
    /// The script that reads the numbers of invalidations.
    public var look = 18.0
    /// What a round after a long wait costs more; two thirds of that after a wait of four milliseconds.
    ///
    /// Meanwhile the server's data has left the processor's caches, and its core has slept. Found by comparison with
    /// real fleets (`docs/scale.md`).
    public var cold = 70.0
    /// A connection, each second.
    public var standing = 10.0
    /// A new connection with its handshake.
    public var connection = 80.0
    /// What TLS adds to a new connection.
    public var handshake = 0.0
    /// Notices of a round to a listener of all changes: a message and a write for all of its keys together.
    public var listener = 3.7
    /// A further key in such a message.
    public var toldKey = 0.05
    /// A notice to a connection that has read the key.
    public var holder = 4.0
    /// Remembering that a connection has read a key.
    public var remembering = 0.15

    public init() {}
}
