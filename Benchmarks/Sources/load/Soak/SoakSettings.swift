import ArgumentParser
import FleetChecker
import Foundation
import Strata
import StrataRedis

/// What all processes of a soak agree on.
struct SoakSettings: Codable {
    var seed: UInt64
    /// Where the source and the histories lie.
    var folder: String
    var keyspace = "soak"
    var keys: Int
    /// Tasks that use the cache in each process.
    var tasks: Int
    /// How long a task rests between two bursts of operations, in milliseconds, on average.
    var restMilliseconds: Int
    var pingIntervalMilliseconds: Int
    var pingTimeoutMilliseconds: Int
    var freshSeconds: Int
    /// How many instances there are; the keys that are set are divided among them.
    var instances: Int
    /// What goes wrong, and what the work has in it.
    var faults: [SoakFault]
    var topology = SoakTopology.single
    /// Of which changes the instances are told, in turns; the names of ``TrackingMode``s.
    var tracking: [String] = [TrackingMode.broadcast.rawValue]
    /// When the soak began, by the clock of histories.
    var began = HistoryClock.now()

    func has(_ fault: SoakFault) -> Bool { faults.contains(fault) }

    /// The schema number of an instance at present: every ten seconds the fleet rolls on, an instance a second.
    func schema(of number: Int) -> UInt32 {
        let seconds = Int((HistoryClock.now() - min(began, HistoryClock.now())) / 1_000_000_000)
        return 1 + UInt32(max(0, seconds - number) / 10)
    }

    var sourcePath: String { folder + "/source" }

    /// The bound that the library states for memory that cannot hear of changes.
    var trustBound: Duration {
        .milliseconds(2 * pingIntervalMilliseconds + pingTimeoutMilliseconds)
    }

    /// After how long a link that can be made again has been made again.
    static let longestReconnectDelay: Duration = .seconds(1)

    /// Values are old soon enough for refreshes to be part of the work, and the source is slow and fails at times.
    var freshness: FreshnessPolicy {
        FreshnessPolicy(
            freshFor: .seconds(freshSeconds),
            staleWhileRevalidate: .seconds(freshSeconds / 2),
            staleIfError: .seconds(freshSeconds),
            softTimeout: .milliseconds(300)
        )
    }

    /// How an instance of a number is connected.
    func configuration(url: String, of number: Int) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url)
        configuration.tracking = TrackingMode(rawValue: tracking[number % tracking.count]) ?? .broadcast
        configuration.linkPingInterval = .milliseconds(pingIntervalMilliseconds)
        configuration.linkPingTimeout = .milliseconds(pingTimeoutMilliseconds)
        if has(.largeValues) { configuration.replyLimits.bulkLength = SoakRoom.bulkLimit }
        configuration.reconnectDelay = .milliseconds(50)...Self.longestReconnectDelay
        return configuration
    }

    // MARK: Arguments

    var argument: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }

    init(argument: String) throws {
        self = try JSONDecoder().decode(SoakSettings.self, from: Data(argument.utf8))
    }

    init(
        seed: UInt64,
        folder: String,
        keys: Int,
        tasks: Int,
        restMilliseconds: Int,
        pingMilliseconds: Int,
        freshSeconds: Int,
        instances: Int,
        faults: [SoakFault] = [],
        topology: SoakTopology = .single,
        tracking: [TrackingMode] = [.broadcast]
    ) {
        self.seed = seed
        self.folder = folder
        self.keys = keys
        self.tasks = tasks
        self.restMilliseconds = restMilliseconds
        pingIntervalMilliseconds = pingMilliseconds
        pingTimeoutMilliseconds = pingMilliseconds
        self.freshSeconds = freshSeconds
        self.instances = instances
        self.faults = faults
        self.topology = topology
        self.tracking = tracking.map(\.rawValue)
    }
}

/// What the driver of `load soak` orders.
enum SoakOrder: Codable {
    /// Reads every key once, so that what is old and seldom asked for shows as well.
    case sweep
    /// Sets keys while the way to the server is frozen, then changes them again until that has come through.
    case setLate
    /// Ends the work and tells what went wrong.
    case finish
}

/// What a process of `load soak` answers.
enum SoakAnswer: Codable {
    case ready
    case swept
    /// How many sets have failed, and how many of those keys were changed again.
    case hasSetLate(failed: Int, changed: Int)
    case finished(SoakTally)
}

/// What a process has counted that the history does not tell.
struct SoakTally: Codable {
    /// Calls that were cancelled on purpose.
    var cancelled = 0
    /// Other things, by name.
    var counts: [String: Int] = [:]
    /// What reads did that their options forbid, by what it was.
    var breaches: [String: Int] = [:]
    /// Errors that callers got, by what they were doing and the text.
    var errors: [String: Int] = [:]

    mutating func add(_ other: SoakTally) {
        cancelled += other.cancelled
        counts.merge(other.counts, uniquingKeysWith: +)
        breaches.merge(other.breaches, uniquingKeysWith: +)
        errors.merge(other.errors, uniquingKeysWith: +)
    }
}
