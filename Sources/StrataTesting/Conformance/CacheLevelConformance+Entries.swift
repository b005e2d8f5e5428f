internal import Strata

extension CacheLevelConformance {
    private static var tolerance: Duration { .milliseconds(50) }

    /// What entries carry beside their values.
    var entryChecks: [Check] {
        [
            Check(name: "an entry whose time is over is not served") { [key, value] level, notes in
                let past = (level.clock ?? .system).now.advanced(by: .seconds(-10))
                try await level.set(value(0), for: key(0))
                try await level.store(Entry(.value(value(1)), freshUntil: past, staleUntil: past), for: key(0))
                notes.expect(level.resident(key(0), at: .now) == nil, "memory serves it")
                if let entry = try await level.entry(for: key(0), ReadRequest()) {
                    notes.expect(entry.value == value(1), "the older value is back")
                    notes.expect(!entry.isUsable(at: (level.clock ?? .system).now), "it says that it may be served")
                }
            },
            Check(name: "a stale entry is not served as fresh", needs: .lifetimes) { [key, value] level, notes in
                let now = (level.clock ?? .system).now
                let entry = Entry(
                    .value(value(1)),
                    freshUntil: now.advanced(by: .seconds(-10)),
                    staleUntil: now.advanced(by: .seconds(1_000))
                )
                try await level.store(entry, for: key(1))
                notes.expect(level.resident(key(1), at: .now) == nil, "memory serves it")
                let found = try await level.entry(for: key(1), ReadRequest())
                notes.expect(found?.isFresh(at: (level.clock ?? .system).now) != true, "it says that it is fresh")
            },
            Check(name: "lifetimes are kept, and not made longer", needs: .lifetimes) { [key, value] level, notes in
                let now = (level.clock ?? .system).now
                let entry = Entry(
                    .value(value(1)),
                    freshUntil: now.advanced(by: .seconds(20)),
                    staleUntil: now.advanced(by: .seconds(30))
                )
                try await level.store(entry, for: key(1))
                guard let found = try await level.entry(for: key(1), ReadRequest()) else {
                    notes.add("it is not found")
                    return
                }
                notes.expect(found.value, is: value(1), "value")
                for (name, end, wanted) in [
                    ("fresh", found.freshUntil, entry.freshUntil), ("stale", found.staleUntil, entry.staleUntil),
                ] {
                    let difference = end.duration(to: wanted)
                    notes.expect(
                        difference <= Self.tolerance && difference >= .zero - Self.tolerance,
                        "\(name) until \(difference) before its time"
                    )
                }
            },
            Check(name: "an absence is kept as one, and is not a miss", needs: .absences) { [key, value] level, notes in
                let end = (level.clock ?? .system).now.advanced(by: .seconds(100))
                try await level.set(value(1), for: key(1))
                try await level.store(Entry(.absent, freshUntil: end), for: key(1))
                notes.expect(try await level.get(key(1)), is: nil, "get")
                let found = try await level.entry(for: key(1), ReadRequest())
                notes.expect(found != nil && found?.value == nil, "it is not kept: \(found as Any)")
                try await level.set(value(2), for: key(1))
                notes.expect(try await level.get(key(1)), is: value(2), "get after a set")
            },
            Check(name: "tags are kept", needs: .tags) { [key, value] level, notes in
                try await level.store(Entry(.value(value(1)), tags: ["a", "b/ü"]), for: key(1))
                notes.expect(try await level.entry(for: key(1), ReadRequest())?.tags, is: ["a", "b/ü"], "tags")
            },
            Check(name: "an absence goes with its tag", needs: [.absences, .tags]) { [key, value] level, notes in
                let end = (level.clock ?? .system).now.advanced(by: .seconds(100))
                try await level.store(Entry(.absent, freshUntil: end, tags: ["a", "b"]), for: key(1))
                try await level.set(value(2), for: key(2), tags: ["c"])
                let kept = try await level.entry(for: key(1), ReadRequest())
                notes.expect(kept?.tags, is: ["a", "b"], "tags")
                try await level.invalidate(tag: "b")
                notes.expect(try await level.entry(for: key(1), ReadRequest()) == nil, "it outlives its tag")
            },
            Check(name: "times at the ends of their range do no harm") { [key, value] level, notes in
                for nanoseconds in [Int64.min, -1, 0, .max - 1, .max] {
                    let time = MonotonicInstant(nanoseconds: nanoseconds)
                    try await level.store(Entry(.value(value(1)), freshUntil: time, staleUntil: time), for: key(1))
                    let found = try await level.get(key(1))
                    notes.expect(found == nil || found == value(1), "get: \(found as Any)")
                }
            },
        ]
    }
}
