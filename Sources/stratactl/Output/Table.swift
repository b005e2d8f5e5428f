/// Rows of text in columns as wide as a terminal shows them.
struct Table {
    enum Alignment {
        case left
        case right
    }

    struct Column {
        let title: String
        let alignment: Alignment

        static func left(_ title: String) -> Column { Column(title: title, alignment: .left) }
        static func right(_ title: String) -> Column { Column(title: title, alignment: .right) }
    }

    let columns: [Column]
    /// As many cells a row as there are columns.
    var rows: [[String]] = []
    /// The colours of rows, by their place.
    var tints: [Int: Tint] = [:]

    init(_ columns: Column...) {
        self.columns = columns
    }

    /// The heading, then the rows.
    ///
    /// O(cells).
    var lines: [String] {
        var widths = columns.map { DisplayWidth.of($0.title) }
        for row in rows {
            for (index, cell) in row.enumerated() { widths[index] = max(widths[index], DisplayWidth.of(cell)) }
        }
        return ([columns.map(\.title)] + rows).map { line($0, widths) }
    }

    /// The heading and the rows, where they are no wider than `width`; otherwise the cells of each row one below the
    /// other, each with the title of its column.
    ///
    /// A terminal would break the lines of a wide table anywhere, and mix up its cells.
    ///
    /// - Parameter width: How many columns there are; `nil` for any number.
    /// - Returns: The lines.
    func lines(within width: Int?) -> [TintedLine] {
        let lines = lines
        guard let width, !rows.isEmpty, lines.contains(where: { DisplayWidth.of($0) > width }) else {
            return lines.enumerated().map { TintedLine($0.element, tints[$0.offset - 1]) }
        }
        let blocks = rows.enumerated()
            .map { number, row in
                var fields = FieldList()
                for (column, cell) in zip(columns, row) { fields.add(column.title, cell) }
                return fields.lines(within: width).map { TintedLine($0.text, tints[number]) }
            }
        return Array(blocks.joined(separator: [TintedLine("")]))
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let padding = String(repeating: " ", count: widths[index] - DisplayWidth.of(cell))
            if index > 0 { line += "  " }
            switch columns[index].alignment {
            case .right: line += padding + cell
            case .left where index == cells.count - 1: line += cell
            case .left: line += cell + padding
            }
        }
        return line
    }
}

/// Names and values, one pair a line.
struct FieldList {
    private(set) var fields: [(name: String, value: String, tint: Tint?)] = []

    /// Adds a line; nothing for `nil`.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - tint: The colour of the name.
    mutating func add(_ name: String, _ value: String?, _ tint: Tint? = nil) {
        if let value { fields.append((name, value, tint)) }
    }

    /// The pairs as rows; where a line has no name of its own, it has that of the line above.
    var rows: [[String]] {
        var name = ""
        return fields.map { field in
            if !field.name.isEmpty { name = field.name }
            return [name, field.value]
        }
    }

    /// The lines, with values broken between words where the terminal is too narrow for them.
    ///
    /// - Parameter columns: How wide it is; `nil` for any width.
    /// - Returns: The lines.
    func lines(within columns: Int?) -> [TintedLine] {
        let width = fields.map { $0.name.count }.max() ?? 0
        return fields.flatMap { field in
            let margin = String(repeating: " ", count: width + 2)
            let start = field.name + margin.dropFirst(field.name.count)
            return WordWrap.lines(field.value, within: columns.map { $0 - width - 2 }).enumerated()
                .map { number, part in
                    number == 0
                        ? TintedLine(start + part, field.tint, upTo: field.name.count) : TintedLine(margin + part)
                }
        }
    }
}

/// A line, and how much of its beginning has a colour.
struct TintedLine {
    let text: String
    private let tint: Tint?
    private let length: Int

    /// - Parameters:
    ///   - text: The line.
    ///   - tint: The colour.
    ///   - length: How many characters have it; all by default.
    init(_ text: String, _ tint: Tint? = nil, upTo length: Int = .max) {
        self.text = text
        self.tint = tint
        self.length = length
    }

    /// The line for a terminal: nothing in its text acts on that, and its beginning is coloured where colours are
    /// shown.
    var shown: String {
        guard let tint else { return ControlCharacters.escaped(text) }
        let begin = ControlCharacters.escaped(String(text.prefix(length)))
        return tint.around(begin) + ControlCharacters.escaped(String(text.dropFirst(length)))
    }
}
