internal import Strata

extension CacheLevelConformance {
    /// Many tasks at once, and tasks that are cancelled.
    var concurrencyChecks: [Check] {
        [
            Check(name: "many tasks at once: each key has one of its own values, or none") {
                [key, value] level, notes in
                await withTaskGroup(of: Void.self) { group in
                    for task in 0..<16 {
                        group.addTask {
                            for round in 0..<12 {
                                let number = (task + round) % 8
                                do {
                                    switch (task + round) % 4 {
                                    case 0: try await level.remove(key(number))
                                    case 1: try await level.set(value(number), for: key(number))
                                    case 2:
                                        let found = try await level.get([key(number), key((number + 1) % 8)])
                                        let wanted = [value(number), value((number + 1) % 8)]
                                        for (one, own) in zip(found, wanted) where one != nil {
                                            notes.expect(one, is: own, "get of two")
                                        }
                                    default:
                                        let found = try await level.get(key(number))
                                        notes.expect(found == nil || found == value(number), "get: \(found as Any)")
                                    }
                                } catch {
                                    notes.add("threw \(error)")
                                }
                            }
                        }
                    }
                }
                for number in 0..<8 {
                    try await level.set(value(50 + number), for: key(number))
                    notes.expect(try await level.get(key(number)), is: value(50 + number), "get afterwards")
                }
            },
            Check(name: "a task that is cancelled gets the value or a cancellation, and the level goes on") {
                [key, value] level, notes in
                try await level.set(value(1), for: key(1))
                let read = Task {
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                    return try await level.get(key(1))
                }
                do {
                    notes.expect(try await read.value, is: value(1), "get")
                } catch {
                    notes.expect(error is CancellationError, "threw \(error)")
                }
                notes.expect(try await level.get(key(1)), is: value(1), "get afterwards")
            },
        ]
    }

    /// The four rules of levels that hear of changes made elsewhere.
    var gateChecks: [Check] {
        [
            Check(name: "a key always has the same fingerprint") { [key] level, notes in
                for number in 0..<20 {
                    notes.expect(level.fingerprint(of: key(number)), is: level.fingerprint(of: key(number)), "number")
                }
            },
            Check(name: "a level with a gate voids tickets when a key is removed, and when all are") {
                [key, value] level, notes in
                guard let gate = level.gate else { return }
                try await level.set(value(1), for: key(1))
                for isAll in [false, true] {
                    let ticket = gate.ticket(for: level.fingerprint(of: key(1)))
                    if isAll { try await level.removeAll() } else { try await level.remove(key(1)) }
                    notes.expect(!gate.isLive(ticket), "a ticket outlives \(isAll ? "clear" : "remove")")
                }
            },
            Check(name: "a level with a gate returns live tickets with entries and writes, or says that it cannot tell")
            {
                [key, value] level, notes in
                guard let gate = level.gate else { return }
                let written = try await level.commit(Entry(value: value(1)), for: key(1))
                notes.expect(written != nil, "a write has returned no ticket")
                // A ticket may be voided at any moment, by the echo of the write for one; not each time.
                var isUsable = false
                for _ in 0..<100 where !isUsable {
                    guard let entry = try await level.entry(for: key(1), ReadRequest()) else { return }
                    isUsable = entry.ticket == .none || entry.ticket == .void || gate.isLive(entry.ticket)
                }
                notes.expect(isUsable, "entries have dead tickets")
            },
        ]
    }
}
