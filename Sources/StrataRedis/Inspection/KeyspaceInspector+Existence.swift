internal import Strata

extension KeyspaceInspector {
    /// Whether anything of the keyspace is there: the marks that every instance makes when it uses one, a value or a
    /// lease.
    ///
    /// One round trip where it is; otherwise a walk over the database by SCAN, in small steps.
    package func exists() async throws -> Bool {
        for part in redis.parts where try await redis.exists(RedisKey(keyspace.marks(of: part))) > 0 { return true }
        for prefix in [keyspace.values, keyspace.leases] {
            for try await batch in redis.keys(beginningWith: prefix) where !batch.isEmpty { return true }
        }
        return false
    }

    /// Keyspaces of the database that may be meant instead of this one, those that are most like it first.
    ///
    /// The same name under another prefix or in other case, the same name with a version, and names that differ by a
    /// few letters. O(keys of the database) at the server, in small steps.
    ///
    /// - Returns: The three nearest at most.
    /// - Throws: ``RedisError``; `CancellationError`.
    package func lookalikes() async throws -> [Keyspace] {
        var seen: Set<ArraySlice<UInt8>> = []
        var found: [(distance: Int, keyspace: Keyspace)] = []
        for try await batch in RedisKeyBatches(client: redis, prefix: [], followedBy: "*:*:[vlt]:*") {
            for name in batch {
                guard let (base, _) = Keyspace.split(name.bytes) ?? Keyspace.splitMarks(name.bytes),
                    seen.count < Self.mostLookalikes, seen.insert(base).inserted,
                    let other = Keyspace(base: base), let distance = distance(to: other)
                else { continue }
                found.append((distance, other))
            }
        }
        found.sort {
            ($0.distance, $0.keyspace.prefix, $0.keyspace.name) < ($1.distance, $1.keyspace.prefix, $1.keyspace.name)
        }
        return found.prefix(3).map(\.keyspace)
    }

    private static let mostLookalikes = 10_000

    /// How little another keyspace is like this one; `nil` when it is another one altogether.
    private func distance(to other: Keyspace) -> Int? {
        guard other != keyspace else { return nil }
        let (wanted, name) = (Array(keyspace.name.lowercased()), Array(other.name.lowercased()))
        let away = other.prefix == keyspace.prefix ? 0 : 1
        if name == wanted { return away }
        if name.starts(with: wanted + "@") { return away + 1 }
        guard away == 0, wanted.count <= 200, name.count <= 200 else { return nil }
        let distance = Self.editDistance(wanted, name)
        return distance <= max(1, wanted.count / 3) ? distance + 1 : nil
    }

    /// How many letters have to be put in, left out, replaced, or swapped with the next (Damerau and Levenshtein; the
    /// variant that edits no letter twice).
    ///
    /// O(product of the lengths).
    package static func editDistance<Letter: Equatable>(_ one: [Letter], _ other: [Letter]) -> Int {
        var before: [Int] = []
        var last = Array(0...other.count)
        for row in 1..<(one.count + 1) {
            var current = [row]
            for column in 1..<(other.count + 1) {
                let isSame = one[row - 1] == other[column - 1]
                var best = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, one[row - 1] == other[column - 2], one[row - 2] == other[column - 1] {
                    best = min(best, before[column - 2] + 1)
                }
                current.append(best)
            }
            (before, last) = (last, current)
        }
        return last[other.count]
    }
}

extension Keyspace {
    /// Cuts the name of a keyspace's marks behind its second colon; `nil` when it is none.
    static func splitMarks(
        _ name: [UInt8]
    ) -> (base: ArraySlice<UInt8>, kind: KeyspaceEntryName.Kind)? {
        let end = Array("t:marks".utf8)
        // In a cluster each part has its own.
        let brace = name.last == UInt8(ascii: "}") ? name.lastIndex(of: UInt8(ascii: "{")) : nil
        let whole = brace.map { name[..<max($0 - 1, 0)] } ?? name[...]
        guard whole.count > end.count, whole.suffix(end.count).elementsEqual(end) else { return nil }
        return (whole.dropLast(end.count), .value)
    }
}
