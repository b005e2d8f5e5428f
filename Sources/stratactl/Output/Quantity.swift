/// Numbers with their nouns.
enum Quantity {
    /// For example `1 value`, `3 values`.
    static func text(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
    }

    /// For example `512 B`, `1.5 KiB`, `20 MiB`.
    static func bytes(_ count: Int) -> String {
        var value = Double(count)
        var unit = 0
        while value >= 1024, unit < 4 {
            value /= 1024
            unit += 1
        }
        let name = ["B", "KiB", "MiB", "GiB", "TiB"][unit]
        guard unit > 0, value < 10 else { return "\(Int(value.rounded())) \(name)" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(name)"
    }
}
