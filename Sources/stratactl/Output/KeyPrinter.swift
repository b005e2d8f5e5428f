import Strata
import StrataRedis

/// Prints keys while they are being found, so that any number of them takes no memory.
struct KeyPrinter {
    enum Style {
        case lines
        /// Lines without a heading.
        case plain
        case nul
        case json
    }

    private let keyspace: Keyspace
    private let style: Style
    private let names: Bool
    private var hasBegun = false
    private(set) var printed = 0
    private var leftOut = 0

    /// Begins the output.
    ///
    /// - Parameters:
    ///   - keyspace: The keyspace that the keys are in.
    ///   - style: How they are printed.
    ///   - names: Whether their names in Redis are printed; JSON has both in any case.
    init(_ keyspace: Keyspace, style: Style, names: Bool) {
        self.keyspace = keyspace
        self.style = style
        self.names = names
    }

    mutating func take(_ batch: some Collection<InspectedKey>) throws {
        try begin()
        switch style {
        case .lines, .plain:
            StandardOutput.lines(batch.map { names ? PrintableText.escape($0.name.bytes) : $0.escaped })
        case .nul:
            let keys = batch.map { names ? readable($0.name.bytes) : readBack($0.userKey) }
            StandardOutput.bytes(keys.flatMap { terminated($0) })
        case .json: try printObjects(batch)
        }
        printed += batch.count
    }

    mutating func finish(more: Bool) throws {
        try begin()
        if style == .json { StandardOutput.bytes(Array("\n  ],\n  \"more\" : \(more)\n}\n".utf8)) }
        if more { StandardError.line("stratactl: there are more keys; --limit 0 lists all") }
        if leftOut > 0 {
            let advice = names ? "" : "; --names has them"
            let count = Quantity.text(leftOut, "key")
            StandardError.line("stratactl: \(count) left out that --print0 cannot write\(advice)")
        }
    }

    private mutating func begin() throws {
        guard !hasBegun else { return }
        hasBegun = true
        switch style {
        case .lines: StandardOutput.lines([names ? "NAME" : "KEY"])
        case .nul, .plain: break
        case .json:
            let name = try JSONDocument.line(of: keyspace.description)
            StandardOutput.bytes(Array("{\n  \"keyspace\" : \(name),\n  \"keys\" : [".utf8))
        }
    }

    private mutating func terminated(_ bytes: [UInt8]?) -> [UInt8] {
        guard let bytes, !bytes.contains(0) else {
            leftOut += 1
            return []
        }
        return bytes + [0]
    }

    /// A name as an argument of a command; `nil` if the command refuses it, as bytes that are no UTF-8.
    private func readable(_ name: [UInt8]) -> [UInt8]? { String(validating: name, as: UTF8.self) == nil ? nil : name }

    /// A key as an argument of a command; `nil` if the command refuses it, as bytes that are no UTF-8, or reads it as
    /// another key, as text in another normal form.
    private func readBack(_ key: [UInt8]?) -> [UInt8]? {
        guard let key, let text = String(validating: key, as: UTF8.self) else { return nil }
        return text.keyBytes == key ? key : nil
    }

    private func printObjects(_ batch: some Collection<InspectedKey>) throws {
        var text = ""
        for (index, key) in batch.enumerated() {
            text += printed + index == 0 ? "\n    " : ",\n    "
            text += try JSONDocument.line(of: JSONKey(key))
        }
        StandardOutput.bytes(Array(text.utf8))
    }
}
