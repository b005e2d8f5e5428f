internal import Strata

/// Some entries of a keyspace, chosen at random: how many are void, and how many have certain tags.
///
/// For a look at what an invalidation or a sweep would touch.
package struct EntrySample: Sendable {
    /// How many values there are.
    package private(set) var values = 0
    /// How many were looked at.
    package private(set) var looked = 0
    /// How many of those are void.
    package private(set) var void = 0
    /// How many of those have one of the tags, and are not void.
    package private(set) var tagged = 0

    /// Of a keyspace that was not looked at.
    package init() {}

    /// How many of all values are void, if those that were not looked at are like the others; `nil` if none was looked
    /// at.
    package var estimatedVoid: Int? { estimate(void) }
    /// The same of those with one of the tags.
    package var estimatedTagged: Int? { estimate(tagged) }

    /// Whether keys were counted.
    private var hasWalked = false

    private func estimate(_ count: Int) -> Int? {
        guard looked > 0 else { return hasWalked && values == 0 ? 0 : nil }
        return Int((Double(count) / Double(looked) * Double(values)).rounded())
    }

    private enum Verdict: Sendable {
        case void
        /// It has one of the tags, and is not void.
        case tagged
        case neither
    }

    /// How much of a value is read first: its header and, in most cases, all of its tags.
    private static let glimpse = Envelope.headerSize + 1_024

    /// Walks over a keyspace by SCAN, and reads the headers and tags of a random sample of its values.
    ///
    /// All keys are counted. O(keys of the database) at the server, in small steps; two commands for each value that is
    /// looked at. Nothing is changed.
    ///
    /// - Parameters:
    ///   - inspector: The keyspace.
    ///   - tags: The tags to look for.
    ///   - samples: How many values to look at.
    ///   - progress: Called after each step with the number of keys so far.
    /// - Returns: What was found.
    /// - Throws: ``RedisError``; `CancellationError`.
    package static func take(
        _ inspector: KeyspaceInspector,
        tags: [String] = [],
        samples: Int,
        progress: (Int) -> Void = { _ in }
    ) async throws -> EntrySample {
        var sample = EntrySample()
        sample.hasWalked = true
        var chosen: [InspectedKey] = []
        for try await keys in inspector.keys() where !keys.isEmpty {
            for key in keys {
                sample.values += 1
                // Algorithm R, as in KeyspaceSizes.
                if chosen.count < samples {
                    chosen.append(key)
                } else if samples > 0 {
                    let place = Int.random(in: 0..<sample.values)
                    if place < samples { chosen[place] = key }
                }
            }
            progress(sample.values)
        }
        let names = Set(tags.map { TagName($0) })
        let verdicts = try await chosen.concurrently { key in
            try await verdict(on: key, names, inspector)
        }
        for case let verdict? in verdicts {
            sample.looked += 1
            switch verdict {
            case .void: sample.void += 1
            case .tagged: sample.tagged += 1
            case .neither: break
            }
        }
        // What has ended meanwhile is not there any more.
        sample.values = max(sample.looked, sample.values - verdicts.count { $0 == nil })
        return sample
    }

    /// `nil` when the value is gone; one that is no envelope is not void and has no tags.
    private static func verdict(
        on key: InspectedKey,
        _ names: Set<TagName>,
        _ inspector: KeyspaceInspector
    ) async throws -> Verdict? {
        let redis = inspector.redis
        var bytes: [UInt8]
        do {
            bytes = try await redis.getRange(key.name, from: 0, through: glimpse - 1)
            if let header = EnvelopeHeader(bytes), bytes.count < Envelope.headerSize + Int(header.tagsLength) {
                let end = Envelope.headerSize + Int(header.tagsLength)
                bytes = try await redis.getRange(key.name, from: 0, through: end - 1)
            }
        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
            return .neither
        }
        guard !bytes.isEmpty else { return nil }
        guard let header = EnvelopeHeader(bytes) else { return .neither }
        // The rest of the value is not needed.
        let envelope = EnvelopeInspection(bytes, size: header.size, keyHash: key.names.keyHash)
        guard envelope.header != nil, envelope.belongsToKey == true else { return .neither }
        let own = envelope.tags.map { TagName($0) }
        let found = try await redis.tagNumbers(of: own, in: inspector.keyspace, inspector.part(of: key))
        guard let marks = found.marks else { return .void }
        let isVoid =
            !(marks.clear...marks.sequence).contains(header.asOf)
            || own.contains { found.numbers[$0] ?? 0 > header.asOf }
        if isVoid { return .void }
        return own.contains { names.contains($0) } ? .tagged : .neither
    }
}

extension KeyspaceInspector {
    /// Invalidates tags as ``RedisLevel/invalidate(tags:)`` does, for every instance and for what is being fetched.
    ///
    /// One round trip for each thousand tags; sixteen at once in a cluster, one for each part of the keyspace.
    ///
    /// - Parameter tags: The tags.
    /// - Returns: The number of the invalidation in each part of the keyspace, the highest one of several.
    /// - Throws: ``/Strata/CacheError/Code/invalidTags``; ``RedisError``, and then some parts may be invalidated;
    ///   `CancellationError`.
    package func invalidate(tags: [String]) async throws -> [UInt64] {
        try TagLimits.checkLengths(tags)
        let names = TagName.unique(tags)
        return try await redis.inEachPart { part in
            var number: UInt64 = 0
            for start in stride(from: 0, to: names.count, by: TagLimits.tagsPerEntry) {
                let some = Array(names[start..<min(start + TagLimits.tagsPerEntry, names.count)])
                number = try await redis.advance(.take(.tags(some)), in: keyspace, part).sequence
            }
            return number
        }
    }
}
