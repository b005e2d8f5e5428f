import Foundation

/// One result of a load program.
struct Measurement: Encodable {
    let name: String
    let value: Double
    let unit: String
    /// What the value was measured beside.
    var comparedTo: String?

    /// Prints the result as one line of JSON.
    func print() {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var rounded = self
        rounded = Measurement(name: name, value: (value * 1000).rounded() / 1000, unit: unit, comparedTo: comparedTo)
        guard let data = try? encoder.encode(rounded) else { return }
        FileHandle.standardOutput.write(data + Data("\n".utf8))
    }
}

extension [Double] {
    /// The middle value.
    var median: Double {
        let sorted = sorted()
        return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
    }
}
