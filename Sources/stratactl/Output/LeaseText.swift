import StrataRedis

/// Leases in words.
enum LeaseText {
    static func holder(of lease: LeaseInspection?) -> String {
        let name = lease?.holder.map { PrintableText.escape(Array($0.utf8)) } ?? ""
        return name.isEmpty ? "an unnamed instance" : name
    }

    /// The instance that fetches, and how long its lease lasts.
    static func lease(_ lease: LeaseInspection?) -> String {
        guard let lease, lease.failure == nil else { return "none" }
        let left = TimeSpan.text(lease.timeLeft)
        return lease.standing == .held
            ? "held by \(holder(of: lease))\(trace(of: lease)), for another \(left) if it is not renewed"
            : "ignored: it lasts longer than any lease of an instance (\(left))"
    }

    /// The trace of the read for which the holder fetches; empty for one that is not traced.
    static func trace(of lease: LeaseInspection) -> String { lease.trace.map { ", trace \($0)" } ?? "" }

    /// The failure of the last fetch.
    static func failure(_ lease: LeaseInspection?) -> String {
        guard let lease, let failure = lease.failure else { return "none" }
        let reason = PrintableText.escape(Array(failure.message.utf8))
        let count = failure.attempts == 1 ? "once" : "\(failure.attempts) times in a row"
        let next =
            switch lease.standing {
            case .backOff(let left): "not tried again for \(TimeSpan.text(left))"
            case .remembered, .held: "the back-off is over"
            case .ignored: "ignored"
            }
        return "failed \(count) with \(reason); \(next)"
    }
}
