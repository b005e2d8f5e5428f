/// A coding key made from what stands in a document.
struct CBORKey: CodingKey, Hashable {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    /// The key that a dictionary by `String` gives to one of its own.
    init(textOrNumber text: String) {
        stringValue = text
        intValue = Int(text)
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    /// The key of an element of an unkeyed container, with the text that the standard coders give it.
    init(index: Int) {
        stringValue = "Index \(index)"
        intValue = index
    }

    /// The key under which a superclass is coded when the caller names none.
    static let `super` = CBORKey(stringValue: "super")
}
