import StrataTesting

/// What others do to the data in Redis.
extension SoakTrouble {
    /// After how long damaged marks must have been set right by those who invalidate tags.
    private static let healing: Duration = .seconds(5)
    /// Numbers above this are none that a keyspace has: microseconds since 1970, and some centuries.
    private static let highestNumber = 8e15

    func troubleData(_ fault: SoakFault, _ random: inout SeededGenerator) async throws {
        let key = Int.random(in: 0..<64, using: &random) % settings.keys
        let choice = Int.random(in: 0..<1_000, using: &random)
        switch fault {
        case .foreignLease: try await leaveLease(key, choice)
        case .foreignValue: try await leaveValue(key, choice)
        case .marksRemoved: try await servers.command("DEL", marks(choice))
        case .marksOfOtherType:
            try await servers.command("SET", marks(choice), "something else")
            try await expectHealed(marks(choice))
        default:
            try await damageNumbers(of: marks(choice), choice)
            try await expectHealed(marks(choice))
        }
    }

    // MARK: Marks

    /// Those of the keyspace, or of one of its parts.
    private func marks(_ choice: Int) -> String {
        let whole = "strata:\(settings.keyspace):t:marks"
        return settings.topology == .cluster ? whole + ":{\(SoakSlots.markTags[choice / 9 % SoakSlots.parts])}" : whole
    }

    private func damageNumbers(of marks: String, _ choice: Int) async throws {
        let numbers = [
            "9000000000000000", "-5", "abc", "1e300", "9223372036854775807", "", "nan", "0", "-9223372036854775808",
        ]
        let number = numbers[choice / 3 % numbers.count]
        switch choice % 3 {
        case 0: try await servers.command("HSET", marks, "s", number)
        case 1: try await servers.command("HSET", marks, "c", number)
        default:
            let field = try await servers.command("HRANDFIELD", marks)
            guard case .bulk(let bytes) = field else { return }
            try await servers.command(bytes: ["HSET", marks].map { Array($0.utf8) } + [bytes, Array(number.utf8)])
        }
    }

    /// Waits until the marks are such that invalidations succeed; removes them if no instance has set them right.
    private func expectHealed(_ marks: String) async throws {
        let end = ContinuousClock.now + Self.healing
        while .now < end {
            try await Task.rest(for: .milliseconds(100))
            if (try? await areSound(marks)) == true { return }
        }
        // Without an answer nothing is known of them.
        guard try await !areSound(marks) else { return }
        count("unhealed_marks")
        try await servers.command("DEL", marks)
    }

    private func areSound(_ marks: String) async throws -> Bool {
        switch try await servers.command("TYPE", marks) {
        case .status("none"): return true
        case .status("hash"): break
        default: return false
        }
        guard case .array(let numbers) = try await servers.command("HMGET", marks, "s", "c") else { return false }
        return numbers.allSatisfy { number in
            guard case .bulk(let bytes) = number, let number = Double(String(decoding: bytes, as: UTF8.self)) else {
                return false
            }
            return number >= 0 && number < Self.highestNumber
        }
    }

    // MARK: Records

    /// Writes something under a key's lease that no instance has written.
    private func leaveLease(_ key: Int, _ choice: Int) async throws {
        let name = "strata:\(settings.keyspace):l:{\(key)}"
        let token = "0123456789abcdef"
        let junk = String(repeating: "\u{1b}[31m", count: 200_000)
        switch choice % 7 {
        case 0: try await servers.command("SET", name, "F1:" + junk, "PX", "3153600000000")
        case 1: try await servers.command("SET", name, "T" + token + "somebody")
        case 2: try await servers.command("SET", name, "T" + token + "somebody", "PX", "3153600000000")
        case 3: try await servers.command("SET", name, "F9223372036854775807:down", "PX", "60000")
        case 4: try await servers.command("SET", name, junk)
        case 5:
            try await servers.command("DEL", name)
            try await servers.command("LPUSH", name, "of another type")
        default: try await servers.command("SET", name, "F-7:down")
        }
        try await Task.rest(for: .milliseconds(500))
    }

    /// Writes something under a key's value that no instance has written for it.
    ///
    /// Whole values are those of another key: this one's, put back later, would undo a change by a fault that no cache
    /// can tell. What is of another type is removed again after a while: a level reads what it can and removes nothing.
    private func leaveValue(_ key: Int, _ choice: Int) async throws {
        let name = valueName(key)
        var bytes: [UInt8] = []
        let other = valueName((key + 1) % settings.keys)
        if case .bulk(let found) = try await servers.command("GET", choice % 6 == 2 ? name : other) { bytes = found }
        switch choice % 6 {
        case 0, 1: try await set(name, bytes.isEmpty ? Array(repeating: 7, count: 1 << 20) : bytes)
        case 2:
            guard !bytes.isEmpty else { return }
            bytes[choice % bytes.count] ^= 0x10
            try await set(name, bytes)
        case 3: try await set(name, Array(bytes.prefix(bytes.count / 2)))
        case 4: try await set(name, Array(repeating: UInt8(ascii: "x"), count: 1 << 20))
        default:
            try await servers.command("DEL", name)
            try await servers.command("LPUSH", name, "of another type")
            // A failover may lose the removal.
            try await servers.command("PEXPIRE", name, "3000")
            try await Task.rest(for: .seconds(1))
            if case .status("list") = try await servers.command("TYPE", name) { try await servers.command("DEL", name) }
        }
        try await Task.rest(for: .milliseconds(500))
    }

    private func valueName(_ key: Int) -> String { "strata:\(settings.keyspace):v:{\(key)}" }

    private func set(_ name: String, _ bytes: [UInt8]) async throws {
        try await servers.command(bytes: [
            Array("SET".utf8), Array(name.utf8), bytes, Array("PX".utf8), Array("3000".utf8),
        ])
    }
}
