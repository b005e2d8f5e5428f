import StrataRedis

/// Spans of time as a person reads them.
enum TimeSpan {
    /// For example `85 µs`, `12 ms`, `1.5 s`, `2 min 5 s`, `3 h 20 min`, `5 d 3 h`.
    static func text(seconds: Double) -> String {
        // A server may answer with anything.
        switch max(seconds, 0) {
        case let seconds where seconds < 0.001: "\(Int((seconds * 1_000_000).rounded())) µs"
        case ..<0.01: "\(tenths(seconds * 1000)) ms"
        case ..<1: "\(Int((seconds * 1000).rounded())) ms"
        case ..<60: "\(tenths(seconds)) s"
        case ..<3600: pair(seconds, 60, "min", 1, "s")
        case ..<86_400: pair(seconds, 3600, "h", 60, "min")
        case ..<31_557_600_000: pair(seconds, 86_400, "d", 3600, "h")
        default: "more than 1000 years"
        }
    }

    static func text(_ duration: Duration) -> String {
        text(seconds: seconds(duration))
    }

    static func seconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// Whole milliseconds.
    static func milliseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }

    static func text(_ lifetime: RedisTimeToLive) -> String {
        switch lifetime {
        case .absent: "absent"
        case .unlimited: "no expiry"
        case .remaining(let duration): text(duration)
        }
    }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    private static func pair(_ seconds: Double, _ large: Int, _ largeName: String, _ small: Int, _ smallName: String)
        -> String
    {
        let whole = Int(seconds)
        let rest = whole % large / small
        return "\(whole / large) \(largeName)" + (rest == 0 ? "" : " \(rest) \(smallName)")
    }
}

/// Time to live in JSON: `{"state": "absent"}`, `{"state": "unlimited"}` or `{"milliseconds": 1500, "state":
/// "remaining"}`.
struct JSONTimeToLive: Encodable {
    let state: String
    let milliseconds: Int64?

    init(_ lifetime: RedisTimeToLive) {
        switch lifetime {
        case .absent: (state, milliseconds) = ("absent", nil)
        case .unlimited: (state, milliseconds) = ("unlimited", nil)
        case .remaining(let duration):
            (state, milliseconds) = ("remaining", TimeSpan.milliseconds(duration))
        }
    }
}
