internal import Strata

/// An instance as a keyspace's list has it.
package struct FleetInstance: Sendable {
    package enum Content: Sendable {
        case record(InstanceRecord)
        /// It is listed, and has no record.
        case missing
        /// The record is too long, damaged, or of another release.
        case unusable
    }

    /// Its number: sixteen hexadecimal digits.
    package let number: String
    /// How long it stays listed if it tells no more.
    package let timeLeft: Duration
    package let content: Content

    package var record: InstanceRecord? { if case .record(let record) = content { record } else { nil } }

    /// The instance with a newer record.
    package func telling(_ record: InstanceRecord) -> FleetInstance {
        FleetInstance(number: number, timeLeft: timeLeft, content: .record(record))
    }
}

/// The instances of a keyspace, as far as they have listed themselves, and what they answer.
///
/// Any user who may write to the keyspace may have written what this reads. So all of it is bounded: the number of
/// instances, the length of a record or an answer, and the wait for one.
package struct FleetInspector: Sendable {
    /// What is known of the instances.
    package struct Listing: Sendable {
        /// By name.
        package var instances: [FleetInstance]
        /// Whether there are more.
        package var more: Bool
    }

    /// The outcome of a question.
    package enum Answer<Content: Sendable>: Sendable {
        case content(Content)
        /// It is too long, damaged, or of another release.
        case unusable
        /// It did not come in time.
        case none
    }

    package let redis: RedisClient
    package let keyspace: Keyspace

    /// How many fields of the list are looked at.
    private static let mostFields = 8192

    package init(_ redis: RedisClient, _ keyspace: Keyspace) {
        self.redis = redis
        self.keyspace = keyspace
    }

    /// The keyspaces in which instances are listed, by name; a thousand at most.
    ///
    /// O(keys of the database) at the server, in small steps.
    ///
    /// - Throws: ``RedisError``; `CancellationError`.
    package static func keyspaces(_ redis: RedisClient, prefix: String) async throws -> [Keyspace] {
        let beginning = Keyspace.component(prefix) + [UInt8(ascii: ":")]
        var found: Set<Keyspace> = []
        for try await batch in RedisKeyBatches(client: redis, prefix: beginning, followedBy: "*:i:{fleet}") {
            for name in batch {
                guard let keyspace = Keyspace(indexOfInstances: name) else { continue }
                found.insert(keyspace)
                if found.count == 1000 { return found.sorted { $0.name < $1.name } }
            }
        }
        return found.sorted { $0.name < $1.name }
    }

    /// How many instances a keyspace lists; see ``FleetScripts``.
    package static let mostListed = 4096

    /// The instances that are listed, with their records.
    ///
    /// - Parameter limit: Most instances to return; all by default.
    /// - Returns: The instances.
    /// - Throws: ``RedisError``; `CancellationError`.
    package func instances(limit: Int = Self.mostListed) async throws -> Listing {
        let (ends, isCut) = try await list()
        let now = try await redis.time(at: HashSlot.of(keyspace.instances)).saturatedNanoseconds / 1_000_000
        let listed = ends.filter { $0.value > now }.sorted { $0.key < $1.key }
        let instances = try await listed.prefix(limit)
            .concurrently { [redis, keyspace] number, end in
                let bytes = try await redis.text(of: keyspace.record(of: number))
                // No instance is listed for longer than three minutes at a time.
                let left = Duration.milliseconds(min(end - now, 180_000))
                let content: FleetInstance.Content =
                    switch bytes {
                    case nil: .missing
                    case let bytes?: InstanceRecord(bytes).map { .record($0) } ?? .unusable
                    }
                return FleetInstance(number: number, timeLeft: left, content: content)
            }
        let sorted = instances.sorted {
            ($0.record == nil ? 1 : 0, $0.record?.name ?? "", $0.number)
                < ($1.record == nil ? 1 : 0, $1.record?.name ?? "", $1.number)
        }
        return Listing(instances: sorted, more: isCut || listed.count > limit)
    }

    /// The index: until when each instance is listed, in milliseconds of the server's clock.
    private func list() async throws -> (ends: [String: Int64], isCut: Bool) {
        var ends: [String: Int64] = [:]
        var cursor: UInt64? = 0
        var scan = ScanLimit()
        var seen = 0
        while let position = cursor {
            guard seen < Self.mostFields else { return (ends, true) }
            let (next, fields) = try await redis.fields(of: keyspace.instances, from: position)
            cursor = try await scan.step(after: position, to: next, at: redis.responsible(for: keyspace.instances)) {
                Self.mostFields
            }
            seen += fields.count
            for (name, text) in fields {
                guard let number = QuestionNumber(name), text.count <= 15,
                    let end = Int64(String(decoding: text, as: UTF8.self))
                else { continue }
                ends[number.text] = end
            }
        }
        return (ends, false)
    }

    /// Asks instances what their memory holds of a key.
    package func find(
        _ key: [UInt8],
        in instances: [FleetInstance],
        within limit: Duration
    ) async throws -> [String: Answer<KeyFinding>] {
        try await ask(.key(key), of: instances, within: limit) { KeyFinding($0) }
    }

    /// Asks instances for their figures of this moment.
    package func figures(
        of instances: [FleetInstance],
        hottest: Int,
        within limit: Duration
    ) async throws -> [String: Answer<InstanceRecord>] {
        try await ask(.figures(hottest: hottest), of: instances, within: limit) { InstanceRecord($0) }
    }

    /// Asks instances which versions their memory holds of some keys.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - instances: The instances.
    ///   - limit: How long to wait for those that do not answer.
    ///   - mute: Instances that did not answer before, by number: for them alone a fifth of the time is enough.
    /// - Returns: The answers, by the instances' numbers.
    /// - Throws: ``RedisError``; `CancellationError`.
    package func versions(
        of keys: [VersionQuestion],
        in instances: [FleetInstance],
        within limit: Duration,
        mute: Set<String> = []
    ) async throws -> [String: Answer<VersionAnswer>] {
        try await ask(.versions(keys), of: instances, within: limit, mute: mute) { VersionAnswer($0, to: keys) }
    }

    /// Asks some instances for the hottest keys in their memory; others leave the question unanswered.
    ///
    /// - Parameters:
    ///   - most: How many keys each names.
    ///   - instances: The instances; of more than ``FleetQuestion/mostNamed`` the first.
    ///   - limit: How long to wait for those that do not answer.
    /// - Returns: The answers, by the instances' numbers.
    /// - Throws: ``RedisError``; `CancellationError`.
    package func hottest(
        _ most: Int,
        in instances: [FleetInstance],
        within limit: Duration
    ) async throws -> [String: Answer<HottestKeys>] {
        let asked = Array(instances.prefix(FleetQuestion.mostNamed))
        let numbers = asked.compactMap { QuestionNumber(Array($0.number.utf8)) }
        return try await ask(
            .hottest(most, of: numbers),
            of: asked,
            within: limit,
            longest: HottestKeys.longest
        ) { HottestKeys($0, most: most) }
    }

    /// Has an instance read keys through its cache.
    ///
    /// - Parameters:
    ///   - keys: The users' keys: ``WarmQuestion/mostKeys`` at most, none longer than ``WarmQuestion/longestKey``.
    ///   - instance: The instance.
    ///   - limit: How long to wait for it.
    /// - Returns: Their outcomes.
    /// - Throws: ``RedisError``, also when the user may not publish; `CancellationError`.
    package func warm(
        _ keys: [[UInt8]],
        by instance: FleetInstance,
        within limit: Duration
    ) async throws -> Answer<WarmAnswer> {
        guard let number = QuestionNumber(Array(instance.number.utf8)) else { return .none }
        let question = FleetQuestion.warm(WarmQuestion(number, keys))
        let answers = try await ask(question, of: [instance], within: limit) { WarmAnswer($0, keys: keys.count) }
        return answers[instance.number] ?? .none
    }

    /// Asks all, and waits for the answers of some.
    ///
    /// - Throws: ``RedisError``, also when the user may not publish; `CancellationError`.
    private func ask<Content: Sendable>(
        _ question: FleetQuestion,
        of instances: [FleetInstance],
        within limit: Duration,
        mute: Set<String> = [],
        longest: Int = InstanceRecord.longest,
        read: @escaping @Sendable ([UInt8]) -> Content?
    ) async throws -> [String: Answer<Content>] {
        var answers: [String: Answer<Content>] = [:]
        var silent = instances.map(\.number)
        guard !silent.isEmpty else { return answers }
        let number = QuestionNumber()
        let end = MonotonicInstant.now.advanced(by: limit)
        let muteEnd = MonotonicInstant.now.advanced(by: limit / 5)
        try await redis.publish(question.message(number), to: keyspace.events)
        var pause = Duration.milliseconds(2)
        while true {
            let found = try await silent.concurrently { [redis, keyspace] instance in
                (instance, try await redis.text(of: keyspace.answer(to: number.text, of: instance), upTo: longest))
            }
            for case (let instance, let bytes?) in found {
                answers[instance] = read(bytes).map { .content($0) } ?? .unusable
            }
            silent = silent.filter { answers[$0] == nil }
            guard !silent.isEmpty, .now < (silent.allSatisfy { mute.contains($0) } ? muteEnd : end) else { break }
            try await Task.pause(for: min(pause, MonotonicInstant.now.duration(to: end)))
            // Each look costs the server a command an instance: a thousand are looked for three times a second.
            pause = min(pause * 2, .milliseconds(50 + silent.count / 4))
        }
        for instance in silent { answers[instance] = Answer.none }
        return answers
    }
}

extension RedisClient {
    /// The first bytes of a record or an answer, one more than it may have; `nil` when there is none.
    fileprivate func text(of key: RedisKey, upTo longest: Int = InstanceRecord.longest) async throws -> [UInt8]? {
        do {
            let bytes = try await getRange(key, from: 0, through: longest)
            return bytes.isEmpty ? nil : bytes
        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
            return [0]
        }
    }
}
