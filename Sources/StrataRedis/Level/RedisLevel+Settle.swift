public import Strata

extension RedisLevel {
    /// Compares what Redis has of a key with a late write, and removes it or ends its lease.
    ///
    /// One round trip; no value is sent.
    ///
    /// - Throws: ``RedisError``; `CancellationError`. The key is then void for this instance, unless the write only
    ///   looks.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        let names = names(for: key)
        if write.step != .looks { shared.changes?.begins(names.fingerprint) }
        do {
            let standing = try await redis.budgeted { try await self.standing(of: names, write) }
            if standing == .gone, write.step != .looks { void(names) }
            return standing
        } catch {
            if write.step != .looks { void(names) }
            throw error
        }
    }

    private func standing(of names: KeyNames, _ write: LateWrite) async throws -> LateWrite.Standing {
        let (role, step): (RedisRole, String) =
            switch write.step {
            case .looks: (.read, "l")
            case .settles: (.remove, "s")
            case .forgets: (.remove, "f")
            }
        let reply = try await counting {
            try await redis.guarded(role, for: names.value) { timeout in
                try await redis.run(
                    ChangeScripts.settle,
                    keys: [names.value, names.lease],
                    arguments: [
                        write.version.bytes, EntryVersion.lateBytes, Array(step.utf8), keyspace.events,
                        KeyspaceEvent.invalidated.message(for: names), KeyspaceEvent.ended.message(for: names),
                    ],
                    repetition: .repeatable,
                    timeout: timeout
                )
            }
        }
        switch reply.integer {
        case 0: return .gone
        case 1: return .stands
        case 2: return .overtaken
        default: throw redis.unexpected("settle")
        }
    }
}
