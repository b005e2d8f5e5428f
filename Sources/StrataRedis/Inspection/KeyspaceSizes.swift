internal import Strata

/// How large the values of a keyspace are: by size, by the beginning of their keys, and the largest ones.
package struct KeyspaceSizes: Sendable {
    /// Values and what was measured of them.
    package struct Tally: Sendable, Hashable {
        /// How many there are.
        package var values = 0
        /// How many were measured.
        package var measured = 0
        /// The sum of their lengths.
        package var bytes = 0
        /// The sum of what Redis takes for them, with their keys.
        package var memory = 0

        /// The length of all, if those that were not measured are like the others.
        package var estimatedBytes: Int { estimate(bytes) }
        /// The same of what Redis takes.
        package var estimatedMemory: Int { estimate(memory) }

        private func estimate(_ sum: Int) -> Int {
            guard measured > 0 else { return 0 }
            return Int(exactly: (Double(sum) / Double(measured) * Double(values)).rounded()) ?? .max
        }

        mutating func add(_ size: Measured) {
            measured += 1
            bytes += size.bytes
            memory += size.memory ?? 0
        }
    }

    /// The values whose keys begin alike.
    package struct Group: Sendable {
        /// The key up to its first colon or slash.
        package enum Beginning: Sendable, Hashable {
            case text([UInt8])
            /// Keys without either.
            case none
            /// Keys of which only a hash is kept, and names that no keyspace makes.
            case unknown
            /// What was found when there were too many groups.
            case others
        }

        package let beginning: Beginning
        package var tally = Tally()
    }

    /// One value.
    package struct Measured: Sendable {
        package let key: InspectedKey
        package let bytes: Int
        /// What Redis takes for it and its key; `nil` when it does not tell.
        package let memory: Int?
    }

    package private(set) var total = Tally()
    /// Whether Redis tells what it takes for a value.
    package private(set) var tellsMemory = true
    /// How many of those that were measured are no longer than each of ``bounds``; the last number is of longer ones.
    package private(set) var histogram = Array(repeating: 0, count: KeyspaceSizes.bounds.count + 1)
    /// The largest ones of those that were measured, by length.
    package private(set) var largest: [Measured] = []

    /// The upper bounds of the histogram, in bytes.
    package static let bounds = (3...12).map { 1 << (2 * $0) }
    private static let mostGroups = 2_000

    private var table: [Group.Beginning: Tally] = [:]
    private let mostLargest: Int

    private init(largest: Int) {
        mostLargest = largest
    }

    /// The groups, the largest first.
    package var groups: [Group] {
        table.map { Group(beginning: $0, tally: $1) }
            .sorted {
                ($0.tally.estimatedBytes, $0.tally.values) > ($1.tally.estimatedBytes, $1.tally.values)
            }
    }

    /// Walks over a keyspace by SCAN, and measures a random sample of its values.
    ///
    /// All keys are counted; with all of them measured nothing is estimated. O(keys of the database) at the server, in
    /// small steps; two commands for each value that is measured. Takes 16 bytes a key, and the names of the sample.
    ///
    /// - Parameters:
    ///   - inspector: The keyspace.
    ///   - samples: How many values to measure; `nil` means all.
    ///   - largest: How many of the largest to tell.
    ///   - progress: Called after each step with the number of keys so far.
    /// - Returns: What was found.
    /// - Throws: ``RedisError``; `CancellationError`.
    package static func take(
        _ inspector: KeyspaceInspector,
        samples: Int?,
        largest: Int,
        progress: (Int) -> Void = { _ in }
    ) async throws -> KeyspaceSizes {
        var sizes = KeyspaceSizes(largest: largest)
        var sample: [InspectedKey] = []
        for try await keys in inspector.keys() where !keys.isEmpty {
            for key in keys {
                sizes.total.values += 1
                sizes.table[sizes.group(of: key), default: Tally()].values += 1
                guard let samples else { continue }
                // Every value is in the sample with the same chance (algorithm R; Vitter, "Random Sampling with a
                // Reservoir", 1985).
                if sample.count < samples {
                    sample.append(key)
                } else if samples > 0 {
                    let place = Int.random(in: 0..<sizes.total.values)
                    if place < samples { sample[place] = key }
                }
            }
            if samples == nil { try await sizes.measure(keys, inspector.redis) }
            progress(sizes.total.values)
        }
        for start in stride(from: 0, to: sample.count, by: 512) {
            try await sizes.measure(Array(sample[start..<min(start + 512, sample.count)]), inspector.redis)
        }
        sizes.cutLargest()
        return sizes
    }

    private func group(of key: InspectedKey) -> Group.Beginning {
        let beginning = Self.beginning(of: key)
        return table[beginning] != nil || table.count < Self.mostGroups ? beginning : .others
    }

    private static func beginning(of key: InspectedKey) -> Group.Beginning {
        guard let bytes = key.userKey else { return .unknown }
        guard let end = bytes.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }) else {
            return .none
        }
        return .text(Array(bytes[...end]))
    }

    private mutating func measure(_ keys: [InspectedKey], _ redis: RedisClient) async throws {
        let asksForMemory = tellsMemory
        let found = try await keys.concurrently { try await Self.size(of: $0, redis, withMemory: asksForMemory) }
        if asksForMemory, found.contains(where: { $0.bytes > 0 && $0.memory == nil }) { tellsMemory = false }
        // A key that is gone by now, or is no string, has no length.
        for size in found where size.bytes > 0 {
            total.add(size)
            table[group(of: size.key), default: Tally()].add(size)
            histogram[Self.bounds.firstIndex { size.bytes <= $0 } ?? Self.bounds.count] += 1
            largest.append(size)
        }
        if largest.count > 2 * mostLargest + 1024 { cutLargest() }
    }

    private mutating func cutLargest() {
        largest.sort { $0.bytes > $1.bytes }
        largest = Array(largest.prefix(mostLargest))
    }

    private static func size(
        of key: InspectedKey,
        _ redis: RedisClient,
        withMemory: Bool
    ) async throws -> Measured {
        let (memory, length) = try await concurrently {
            withMemory ? try await redis.memory(of: key.name) : nil
        } and: {
            try await Self.length(of: key, redis)
        }
        return Measured(key: key, bytes: min(length, 1 << 30), memory: memory)
    }

    private static func length(of key: InspectedKey, _ redis: RedisClient) async throws -> Int {
        do {
            return try await redis.length(of: key.name)
        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
            return 0
        }
    }
}

extension RedisClient {
    /// MEMORY USAGE: what the server takes for a key and its value; `nil` when there is none, or it does not tell.
    ///
    /// One round trip. A string's is found without a look at its bytes.
    func memory(of name: RedisKey) async throws -> Int? {
        do {
            let command = [Array("MEMORY".utf8), Array("USAGE".utf8), name.bytes]
            return try await send(command, repeatable: true).number(in: 0...(1 << 40)).map { Int($0) }
        } catch let error as RedisError where error.code == .server {
            return nil
        }
    }
}
