import StrataRedis

/// The sizes of a keyspace, as they are printed.
struct SizesReport: Encodable {
    struct Bar: Encodable {
        /// The longest value, in bytes; missing for the last one.
        let upTo: Int?
        let measured: Int
        let share: Double
    }

    struct Group: Encodable {
        /// What the keys begin with; missing for keys without a colon or slash, hashed ones, and the rest.
        let beginning: JSONBytes?
        /// As it is shown.
        let shown: String
        let values: Int
        let estimatedBytes: Int
        /// Missing when the server does not tell.
        let estimatedMemory: Int?
    }

    struct Large: Encodable {
        let key: JSONKey
        let shown: String
        let bytes: Int
        let memory: Int?
    }

    let keyspace: String
    let values: Int
    let measured: Int
    let estimatedBytes: Int
    let estimatedMemory: Int?
    let histogram: [Bar]
    let groups: [Group]
    let moreGroups: Int
    let largest: [Large]

    init(_ sizes: KeyspaceSizes, _ keyspace: Keyspace, top: Int) {
        self.keyspace = keyspace.description
        let total = sizes.total
        values = total.values
        measured = total.measured
        estimatedBytes = total.estimatedBytes
        estimatedMemory = sizes.tellsMemory ? total.estimatedMemory : nil
        histogram = sizes.histogram.enumerated()
            .map { place, count in
                Bar(
                    upTo: place < KeyspaceSizes.bounds.count ? KeyspaceSizes.bounds[place] : nil,
                    measured: count,
                    share: Double(count) / Double(max(1, total.measured))
                )
            }
        let all = sizes.groups
        groups = all.prefix(top)
            .map { group in
                let (bytes, shown) = Self.beginning(group.beginning)
                return Group(
                    beginning: bytes.map { JSONBytes($0) },
                    shown: shown,
                    values: group.tally.values,
                    estimatedBytes: group.tally.estimatedBytes,
                    estimatedMemory: sizes.tellsMemory ? group.tally.estimatedMemory : nil
                )
            }
        moreGroups = all.count - groups.count
        largest = sizes.largest.map {
            Large(key: JSONKey($0.key), shown: $0.key.escaped, bytes: $0.bytes, memory: $0.memory)
        }
    }

    private static func beginning(_ beginning: KeyspaceSizes.Group.Beginning) -> ([UInt8]?, String) {
        switch beginning {
        case .text(let bytes): (bytes, PrintableText.escape(bytes))
        case .none: (nil, "(no : or /)")
        case .unknown: (nil, "(hashed or irregular)")
        case .others: (nil, "(others)")
        }
    }

    // MARK: For people

    func printTables() {
        var fields = FieldList()
        fields.add("keyspace", PrintableText.escape(Array(keyspace.utf8)))
        fields.add("values", measured < values ? "\(values), \(measured) of them measured" : "\(values), all measured")
        let about = measured < values ? "about " : ""
        let memory = estimatedMemory.map { "; \(about)\(Quantity.bytes($0)) in Redis with their keys" } ?? ""
        fields.add("size", "\(about)\(Quantity.bytes(estimatedBytes))\(memory)")
        StandardOutput.fields(fields)
        guard measured > 0 else { return }
        StandardOutput.lines([""] + bars(within: StandardOutput.columns ?? 80))
        guard !groups.isEmpty else { return }
        StandardOutput.lines([""])
        var beginnings = Table(.right("VALUES"), .right("SIZE"), .right("SHARE"), .left("START OF KEYS"))
        beginnings.rows = groups.map {
            let share = Double($0.estimatedBytes) / Double(max(1, estimatedBytes))
            return [String($0.values), Quantity.bytes($0.estimatedBytes), Self.percent(share), $0.shown]
        }
        StandardOutput.table(beginnings)
        if moreGroups > 0 {
            StandardOutput.lines(["(\(Quantity.text(moreGroups, "more beginning")); --top sets how many)"])
        }
        StandardOutput.lines([""])
        var values = Table(.right("SIZE"), .right("IN REDIS"), .left("LARGEST VALUES"))
        values.rows = largest.map { [Quantity.bytes($0.bytes), $0.memory.map { Quantity.bytes($0) } ?? "-", $0.shown] }
        StandardOutput.table(values)
    }

    /// The histogram, from the first size that there is to the last.
    func bars(within columns: Int) -> [String] {
        guard let first = histogram.firstIndex(where: { $0.measured > 0 }),
            let last = histogram.lastIndex(where: { $0.measured > 0 })
        else { return [] }
        let shown = histogram[first...last]
        let labels = shown.map { $0.upTo.map { "to \(Quantity.bytes($0))" } ?? "more" }
        let width = labels.map(\.count).max() ?? 0
        let most = shown.map(\.share).max() ?? 1
        // Margins, and a share of up to five columns.
        let longest = max(4, min(50, columns - width - 9))
        return zip(labels, shown)
            .map { label, bar in
                let length = bar.measured == 0 ? 0 : max(1, Int((bar.share / most * Double(longest)).rounded()))
                let margin = String(repeating: " ", count: width - label.count + 2)
                let line = label + margin + String(repeating: "█", count: length)
                return line + String(repeating: " ", count: longest - length + 2) + Self.percent(bar.share)
            }
    }

    /// A share in percent; a share above zero is never shown as 0.
    static func percent(_ share: Double) -> String {
        let percent = min(max(share * 100, 0), 100)
        return percent > 0 && percent < 0.5 ? "<1 %" : "\(Int(percent.rounded())) %"
    }

    // MARK: For programs

    /// One row a size, a beginning or a value, with sizes in bytes.
    ///
    /// The first cell tells which.
    var rows: [[String]] {
        var rows = [["total", PrintableText.escape(Array(keyspace.utf8)), String(values), String(estimatedBytes)]]
        rows += histogram.filter { $0.measured > 0 }
            .map { ["size", $0.upTo.map { String($0) } ?? "more", String($0.measured), Self.percent($0.share)] }
        rows += groups.map { ["keys", $0.shown, String($0.values), String($0.estimatedBytes)] }
        rows += largest.map { ["value", $0.shown, $0.memory.map { String($0) } ?? "-", String($0.bytes)] }
        return rows
    }
}
