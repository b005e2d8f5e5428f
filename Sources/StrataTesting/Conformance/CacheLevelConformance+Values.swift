internal import Strata

extension CacheLevelConformance {
    /// Keeping, replacing and forgetting values.
    var valueChecks: [Check] {
        [
            Check(name: "an empty level misses") { [key] level, notes in
                notes.expect(try await level.get(key(0)), is: nil, "get")
                notes.expect(try await level.get([key(0), key(1)]), is: [nil, nil], "get of two")
                notes.expect(level.resident(key(0), at: .now) == nil, "memory has a value")
            },
            Check(name: "a value that was set is found, under its key alone") { [key, value] level, notes in
                try await level.set(value(1), for: key(1))
                notes.expect(try await level.get(key(1)), is: value(1), "get")
                notes.expect(try await level.get(key(1)), is: value(1), "second get")
                for other in [0, 2, 3] { notes.expect(try await level.get(key(other)), is: nil, "get of another key") }
            },
            Check(name: "a value that is set again takes the place of the first") { [key, value] level, notes in
                try await level.set(value(1), for: key(1))
                try await level.set(value(2), for: key(1))
                notes.expect(try await level.get(key(1)), is: value(2), "get")
            },
            Check(name: "a key that is removed is gone, and others stay; an absent one is no error") {
                [key, value] level, notes in
                try await level.remove(key(3))
                try await level.set(value(1), for: key(1))
                try await level.set(value(2), for: key(2))
                try await level.remove(key(1))
                try await level.remove(key(1))
                notes.expect(try await level.get(key(1)), is: nil, "get")
                notes.expect(level.resident(key(1), at: .now) == nil, "memory has the value")
                notes.expect(try await level.get(key(2)), is: value(2), "get of another key")
                try await level.set(value(3), for: key(1))
                notes.expect(try await level.get(key(1)), is: value(3), "get after a new set")
            },
            Check(name: "after clear nothing is found, and values can be set again") { [key, value] level, notes in
                for number in 0..<20 { try await level.set(value(number), for: key(number)) }
                try await level.clear()
                for number in 0..<20 { notes.expect(try await level.get(key(number)), is: nil, "get of key \(number)") }
                try await level.clear()
                try await level.set(value(1), for: key(1))
                notes.expect(try await level.get(key(1)), is: value(1), "get after a new set")
            },
            Check(name: "keys of all kinds keep their own values") { [key, value] level, notes in
                for number in 0..<50 { try await level.set(value(number), for: key(number)) }
                for number in 0..<50 {
                    notes.expect(try await level.get(key(number)), is: value(number), "get of key \(number)")
                }
            },
            Check(name: "memory pressure never fails, and leaves values or misses") { [key, value] level, notes in
                for pressure in [MemoryPressure.moderate, .critical] {
                    for number in 0..<20 { try await level.set(value(number), for: key(number)) }
                    level.relieve(pressure)
                    for number in 0..<20 {
                        let found = try await level.get(key(number))
                        notes.expect(found == nil || found == value(number), "get of key \(number): \(found as Any)")
                    }
                }
            },
            Check(name: "it describes itself") { level, notes in
                notes.expect(!level.label.name.isEmpty, "no name")
                notes.expect(level.description, is: level.label.description, "description")
                let paths = level.label.nodes.map(\.path)
                notes.expect(Set(paths).count, is: paths.count, "paths")
            },
        ]
    }

    /// Several keys at once.
    var batchChecks: [Check] {
        [
            Check(name: "several keys are answered in their order, each key as often as it is asked for") {
                [key, value] level, notes in
                for number in 0..<10 { try await level.set(value(number), for: key(number)) }
                let numbers = [7, 3, 70, 3, 0, 71, 9]
                let wanted = numbers.map { $0 < 10 ? value($0) : nil }
                notes.expect(try await level.get(numbers.map(key)), is: wanted, "get")
                notes.expect(
                    try await level.batchGetSome(numbers.map(key)),
                    is: wanted.compactMap { $0 },
                    "lenient batch"
                )
                notes.expect(try await level.batchGetAll([5, 4].map(key)), is: [value(5), value(4)], "strict batch")
            },
            Check(name: "no keys have no values") { level, notes in
                notes.expect(try await level.get([]), is: [], "get")
                notes.expect(try await level.batchGetAll([]), is: [], "strict batch")
            },
        ]
    }
}
