#if Configuration
/// Sizes as they are written in a configuration: a number of bytes, or a number and `KiB`, `MiB` or `GiB`.
enum SizeText {
    private static let units: [(name: String, shift: Int)] = [("KiB", 10), ("MiB", 20), ("GiB", 30)]

    /// - Returns: The bytes; `nil` for what is no size, or does not fit.
    static func read(_ text: String) -> Int? {
        let unit = units.first { text.hasSuffix($0.name) }
        let digits = unit.map { text.dropLast($0.name.count) } ?? text[...]
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int(digits)
        else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: 1 << (unit?.shift ?? 0))
        return overflow ? nil : bytes
    }

    /// The shortest way to write a size.
    static func write(_ bytes: Int) -> String {
        guard bytes > 0, let unit = units.last(where: { bytes % (1 << $0.shift) == 0 }) else { return String(bytes) }
        return "\(bytes >> unit.shift)\(unit.name)"
    }
}
#endif
