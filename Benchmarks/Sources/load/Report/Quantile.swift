extension [Double] {
    /// The smallest value that at least this share of the values does not exceed.
    func quantile(_ share: Double) -> Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return .nan }
        let rank = Int((share * Double(sorted.count)).rounded(.up)) - 1
        return sorted[Swift.min(Swift.max(rank, 0), sorted.count - 1)]
    }
}
