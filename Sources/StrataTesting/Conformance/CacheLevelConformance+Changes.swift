internal import Strata

extension CacheLevelConformance {
    /// Changes that compare before they store; for a level that is an `AtomicLevel` and keeps entries.
    var changeChecks: [Check] {
        [
            change("a value is set where there is none, and nowhere else") { [key, value] level, notes in
                notes.expect(try await level.setIfAbsent(value(1), for: key(1)), is: nil, "the first")
                notes.expect(try await level.setIfAbsent(value(2), for: key(1)), is: value(1), "the second")
                notes.expect(try await level.get(key(1)), is: value(1), "get")
                try await level.remove(key(1))
                notes.expect(try await level.setIfAbsent(value(3), for: key(1)), is: nil, "after a removal")
                notes.expect(try await level.get(key(1)), is: value(3), "get after a removal")
            },
            change("of many tasks that set a value where there is none, one succeeds") { [key, value] level, notes in
                let answers = try await withThrowingTaskGroup(of: Level.Value?.self) { group in
                    for task in 0..<12 {
                        group.addTask { try await level.setIfAbsent(value(task), for: key(1), within: .seconds(60)) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let found = try await level.get(key(1))
                notes.expect(answers.count { $0 == nil }, is: 1, "those that have stored")
                notes.expect(answers.allSatisfy { $0 == nil || $0 == found }, "the others get another value")
            },
            change("a value is compared before it is replaced or removed") { [key, value] level, notes in
                notes.expect(try await level.compareAndSet(key(1), from: value(1), to: value(2)), is: false, "of none")
                notes.expect(try await level.compareAndSet(key(1), from: nil, to: value(1)), is: true, "where none is")
                notes.expect(try await level.compareAndSet(key(1), from: nil, to: value(3)), is: false, "where one is")
                notes.expect(try await level.compareAndSet(key(1), from: value(3), to: nil), is: false, "of another")
                notes.expect(try await level.get(key(1)), is: value(1), "get")
                notes.expect(try await level.compareAndSet(key(1), from: value(1), to: value(2)), is: true, "of this")
                notes.expect(try await level.get(key(1)), is: value(2), "get of the second")
                notes.expect(try await level.compareAndSet(key(1), from: value(2), to: nil), is: true, "of the second")
                notes.expect(try await level.get(key(1)), is: nil, "get of a removed one")
            },
            change("a change in between is seen before the new value is stored") { [key, value] level, notes in
                try await level.set(value(0), for: key(1))
                var runs = 0
                try await level.update(key(1), within: .seconds(60)) { old in
                    runs += 1
                    if runs == 1 { try await level.set(value(1), for: key(1)) }
                    return old == value(1) ? value(3) : value(2)
                }
                notes.expect(try await level.get(key(1)), is: value(3), "get after \(runs) runs")
            },
            change("no change of many tasks is lost") { [key, value] level, notes in
                try await level.set(value(0), for: key(1))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<6 {
                        group.addTask {
                            for _ in 0..<5 {
                                try await level.update(key(1), within: .seconds(60)) { old in
                                    (0..<30).first { value($0) == old }.map { value($0 + 1) }
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                notes.expect(try await level.get(key(1)), is: value(30), "get")
            },
            change("a value that is touched gets another lifetime, and nothing else", needs: [.lifetimes, .tags]) {
                [key, value] level, notes in
                notes.expect(try await level.touch(key(1), lifetime: Self.hour), is: false, "where none is")
                let minute = EntryLifetime(freshFor: .seconds(60))
                try await level.set(value(1), for: key(1), lifetime: minute, tags: ["a"])
                try await level.set(value(2), for: key(2), lifetime: minute)
                let start = (level.clock ?? .system).now
                notes.expect(try await level.touch(key(1), lifetime: Self.hour), is: true, "where one is")
                let found = try await level.current(key(1))?.entry
                notes.expect(found?.value, is: value(1), "the value")
                notes.expect(found?.tags, is: ["a"], "the tags")
                let length = found.map { start.duration(to: $0.freshUntil) } ?? .zero
                // A policy may spread lifetimes, so that not all of them end at once.
                notes.expect(length > .seconds(1_800) && length < .seconds(3_700), "it is fresh for \(length)")
                let other = try await level.current(key(2))?.entry
                let left = other.map { start.duration(to: $0.freshUntil) } ?? .zero
                notes.expect(left > .zero && left <= .seconds(61), "another is fresh for \(left)")
                try await level.invalidate(tag: "a")
                notes.expect(try await level.touch(key(1), lifetime: Self.hour), is: false, "after an invalidation")
                notes.expect(try await level.current(key(1))?.entry?.value, is: nil, "an invalidated value is back")
            },
            change("a value that is expired stays as stale, if it may be served so", needs: .lifetimes) {
                [key, value] level, notes in
                notes.expect(try await level.expire(key(1)), is: false, "where none is")
                let lifetime = EntryLifetime(freshFor: .seconds(3_600), staleFor: .seconds(60))
                try await level.set(value(1), for: key(1), lifetime: lifetime)
                notes.expect(try await level.expire(key(1)), is: true, "with a stale window")
                notes.expect(level.resident(key(1), at: .coarse) == nil, "memory serves it as fresh")
                let found = try await level.current(key(1))?.entry
                notes.expect(found?.value, is: value(1), "the value")
                notes.expect(found?.isFresh(at: (level.clock ?? .system).now) != true, "it is fresh")
                let left = found.map { (level.clock ?? .system).now.duration(to: $0.staleUntil) } ?? .zero
                notes.expect(left > .zero && left <= .seconds(61), "it is stale for \(left)")
                try await level.set(value(2), for: key(2), lifetime: Self.hour)
                notes.expect(try await level.expire(key(2)), is: false, "without a stale window")
                notes.expect(try await level.current(key(2))?.entry?.value, is: nil, "it has no window, and is there")
            },
        ]
    }

    private static var hour: EntryLifetime { EntryLifetime(freshFor: .seconds(3_600)) }

    /// A check that is left out where no level keeps entries that can be compared.
    private func change(
        _ name: String,
        needs: LevelAbilities = [],
        _ body:
            @escaping @Sendable (any AtomicLevel<Level.Key, Level.Value>, ConformanceNotes) async throws -> Void
    ) -> Check {
        Check(name: name, needs: needs) { [key] level, notes in
            guard let level = level as? any AtomicLevel<Level.Key, Level.Value>,
                try await level.current(key(0)) != nil
            else { return }
            try await body(level, notes)
        }
    }
}
