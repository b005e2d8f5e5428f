import StrataRedis
import Testing

/// Compares replies.
///
/// A difference is reported by its place and beginning, because whole streams run to megabytes.
func expectSame(
    _ found: [RESPValue],
    _ expected: [RESPValue],
    _ circumstances: @autoclosure () -> String = "",
    sourceLocation: SourceLocation = #_sourceLocation
) {
    guard found != expected else { return }
    let place = zip(found, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    var text = "\(found.count) replies instead of \(expected.count)"
    if let place { text += "; reply \(place) is \(brief(found[place])) instead of \(brief(expected[place]))" }
    Issue.record("\(text) \(circumstances())", sourceLocation: sourceLocation)
}

private func brief(_ value: RESPValue) -> String {
    switch value {
    case .bytes(let bytes): "\(bytes.count) bytes \(bytes.prefix(20))"
    case .array(let elements): "array of \(elements.count) [\(elements.prefix(4).map(brief).joined(separator: ", "))]"
    default: String("\(value)".prefix(80))
    }
}
