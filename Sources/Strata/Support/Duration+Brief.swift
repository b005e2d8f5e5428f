extension Duration {
    /// The duration as a person reads it, with two digits or three: `85 µs`, `1.2 ms`, `12 s`, `3 min`, `5 h`, `2 d`.
    var brief: String {
        let nanoseconds = Double(saturatedNanoseconds)
        let units: [(name: String, size: Double)] = [
            ("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9), ("d", 86_400e9),
        ]
        let unit = units.last { nanoseconds >= $0.size } ?? units[0]
        let tenths = (nanoseconds / unit.size * 10).rounded() / 10
        let isWhole = tenths >= 10 || tenths == tenths.rounded() || unit.size == 1
        return "\(isWhole ? "\(Int(tenths.rounded()))" : "\(tenths)") \(unit.name)"
    }
}
