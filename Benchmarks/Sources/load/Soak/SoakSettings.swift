import ArgumentParser
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

    func configuration(url: String) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url)
        configuration.linkPingInterval = .milliseconds(pingIntervalMilliseconds)
        configuration.linkPingTimeout = .milliseconds(pingTimeoutMilliseconds)
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
        instances: Int
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
    }
}

/// What the driver of `load soak` orders.
enum SoakOrder: Codable {
    /// Reads every key once, so that what is old and seldom asked for shows as well.
    case sweep
    /// Ends the work and tells what went wrong.
    case finish
}

/// What a process of `load soak` answers.
enum SoakAnswer: Codable {
    case ready
    case swept
    case finished(SoakTally)
}

/// What a process has counted that the history does not tell.
struct SoakTally: Codable {
    /// Calls that were cancelled on purpose.
    var cancelled = 0
    /// Errors that callers got, by what they were doing and the text.
    var errors: [String: Int] = [:]

    mutating func add(_ other: SoakTally) {
        cancelled += other.cancelled
        errors.merge(other.errors, uniquingKeysWith: +)
    }
}
