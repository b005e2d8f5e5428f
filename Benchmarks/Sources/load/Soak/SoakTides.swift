import StrataTesting

/// Makes now the one mode of tracking cheaper for the server and now the other, so that instances that choose change
/// theirs.
///
/// First keys that no instance reads are written, more and more of them: whoever is told of all changes pays for them.
/// Then the lifetime of keys that all read is set anew, again and again: whoever is told of what he has read pays for
/// that. Neither changes a value.
struct SoakTides: Sendable {
    /// How often what is due is sent.
    private static let beat: Duration = .milliseconds(100)
    private static let floodBeats = 350
    // A mode is judged every ten seconds, and needs two judgements.
    private static let touchBeats = 350
    private static let restBeats = 50
    /// Keys a beat at the beginning of a flood, and what a beat has more than the one before: from 300 to 25 000 a
    /// second.
    private static let first = 30.0
    private static let growth = 1.0127
    /// Of the keys that are asked for most.
    private static let touchedKeys = 200

    private static let flood = """
        for number = 1, tonumber(ARGV[2]) do redis.call('SET', ARGV[1] .. number, '', 'PX', 2000) end
        """
    /// What a fault has left has three seconds to live, and is not to be kept alive.
    private static let touch = """
        for number = 0, tonumber(ARGV[2]) - 1 do
            local name = ARGV[1] .. '{' .. number .. '}'
            if redis.call('PTTL', name) > 3000 then redis.call('PEXPIRE', name, 60000) end
        end
        """

    private let servers: SoakServers
    private let prefix: String

    /// - Returns: `nil` if no instance chooses, or a script would need to know the slots of its keys.
    init?(_ servers: SoakServers, _ settings: SoakSettings) {
        guard settings.tracking.contains("automatic"), settings.topology != .cluster else { return nil }
        self.servers = servers
        prefix = "strata:\(settings.keyspace):v:"
    }

    /// Goes on until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            var keys = Self.first
            for _ in 0..<Self.floodBeats {
                await send(Self.flood, prefix + "tide", Int(keys))
                keys *= Self.growth
            }
            for _ in 0..<Self.touchBeats { await send(Self.touch, prefix, Self.touchedKeys) }
            for _ in 0..<Self.restBeats { try? await Task.rest(for: Self.beat) }
        }
    }

    private func send(_ script: String, _ prefix: String, _ keys: Int) async {
        // A server that is down has no tides.
        _ = try? await servers.command("EVAL", script, "0", prefix, "\(keys)")
        try? await Task.rest(for: Self.beat)
    }
}
