import Strata
import Testing

@Suite("The name of a span that processes hand on")
struct TraceParentTests {
    private static let field = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private func read(_ text: String) -> TraceParent? { TraceParent(text.utf8) }

    @Test("has the form of W3C Trace Context, of later versions, too")
    func form() {
        for text in [Self.field, "cc" + Self.field.dropFirst(2), Self.field.dropLast(2) + "00"] {
            #expect(read(String(text))?.text == String(text))
        }
        #expect(read(Self.field)?.trace == "4bf92f3577b34da6a3ce929d0e0e4736")
    }

    @Test("is nothing else, whoever has written it")
    func others() {
        let zeros = String(repeating: "0", count: 32)
        let wrong = [
            "", Self.field + "-", String(Self.field.dropLast()), Self.field.uppercased(),
            "ff" + Self.field.dropFirst(2),
            "00-\(zeros)-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-\(zeros.prefix(16))-01",
            Self.field.replacing("-", with: "_"), "0-04bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", "-" + Self.field.dropFirst(),
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01", String(repeating: "-", count: 55),
        ]
        for text in wrong { #expect(read(text) == nil, "\(text)") }
        #expect(TraceParent(Array(Self.field.utf8.dropLast()) + [0xff]) == nil)
    }
}
