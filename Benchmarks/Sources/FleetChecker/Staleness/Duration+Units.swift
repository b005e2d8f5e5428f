extension Duration {
    /// The whole nanoseconds: 0 if negative, the greatest number if there are more.
    var clampedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole.addingSaturating(UInt64(attoseconds / 1_000_000_000))
    }

    /// Milliseconds as a number, to the nanosecond.
    var milliseconds: Double {
        Double(clampedNanoseconds) / 1e6
    }

    /// Milliseconds for a person, to the microsecond.
    var inMilliseconds: String {
        let microseconds = clampedNanoseconds / 1_000
        let part = String(microseconds % 1_000)
        return "\(microseconds / 1_000).\(String(repeating: "0", count: 3 - part.count))\(part) ms"
    }
}
