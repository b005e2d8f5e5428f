extension UInt64 {
    func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    func subtractingSaturating(_ other: UInt64) -> UInt64 {
        self > other ? self - other : 0
    }
}
