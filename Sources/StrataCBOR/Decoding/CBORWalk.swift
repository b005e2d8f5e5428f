/// Goes through a document item by item without an index, and looks no further than where it is sent.
///
/// Every offset is checked before a byte is read. What lies behind the item that is looked for is not looked at, so a
/// fault there goes unseen.
@safe
struct CBORWalk {
    private let base: UnsafeRawPointer
    private let count: Int
    private let depthLimit: Int

    /// A walk through borrowed bytes, which have to stay valid as long as it lasts.
    init(_ bytes: UnsafeRawBufferPointer, _ limits: CBORLimits) throws(CBORError) {
        guard bytes.count <= limits.usableBytes else {
            throw CBORError(.tooLarge, at: 0, "The document is longer than the limit of \(limits.usableBytes) bytes.")
        }
        guard let start = bytes.baseAddress, bytes.count > 0 else {
            throw CBORError(.truncated, at: 0, "The document is empty.")
        }
        unsafe base = start
        count = bytes.count
        depthLimit = CBORLimits.usableDepth(limits.depth)
    }

    /// Where the item lies that a path leads to; `nil` where there is none.
    ///
    /// O(n) in the bytes up to its end.
    func find(_ path: some Sequence<CBORPathStep>) throws(CBORError) -> Range<Int>? {
        var offset = 0
        var level = 0
        for step in path {
            try passTags(&offset, &level)
            let isFound =
                switch step.form {
                case .key(let name): try enter(map: &offset, at: name, level)
                case .index(let index): try enter(array: &offset, at: index, level)
                }
            guard isFound else { return nil }
            level += 1
        }
        let start = offset
        try pass(&offset, level)
        return start..<offset
    }

    // MARK: Steps

    /// Goes to the value of a text key; false when there is no map, or no such key.
    private func enter(map offset: inout Int, at name: [UInt8], _ level: Int) throws(CBORError) -> Bool {
        guard try initial(offset) & CBORMajor.mask == CBORMajor.map else { return false }
        var left = try contents(&offset, level)
        while try !isAtEnd(&offset, &left) {
            let isWanted = try isText(name, at: offset)
            try pass(&offset, level + 1)
            if isWanted { return true }
            try pass(&offset, level + 1)
        }
        return false
    }

    /// Goes to an element; false when there is no array, or no such element.
    private func enter(array offset: inout Int, at index: Int, _ level: Int) throws(CBORError) -> Bool {
        guard index >= 0, try initial(offset) & CBORMajor.mask == CBORMajor.array else { return false }
        var left = try contents(&offset, level)
        var place = 0
        while try !isAtEnd(&offset, &left) {
            if place == index { return true }
            try pass(&offset, level + 1)
            place += 1
        }
        return false
    }

    /// Whether the item at an offset is a text of a definite length with these bytes.
    private func isText(_ name: [UInt8], at offset: Int) throws(CBORError) -> Bool {
        let initial = try initial(offset)
        guard initial & CBORMajor.mask == CBORMajor.text, initial & 0x1F < 28 else { return false }
        var start = offset
        let length = try head(&start)
        guard length == UInt64(name.count), name.count <= count - start else { return false }
        for place in 0..<name.count where unsafe base.load(fromByteOffset: start + place, as: UInt8.self) != name[place]
        {
            return false
        }
        return true
    }

    // MARK: Items

    /// Passes an item with all that is in it.
    private func pass(_ offset: inout Int, _ level: Int) throws(CBORError) {
        var level = level
        try passTags(&offset, &level)
        let initial = try initial(offset)
        switch initial & CBORMajor.mask {
        case CBORMajor.bytes, CBORMajor.text: try passString(&offset, initial)
        case CBORMajor.array:
            var left = try contents(&offset, level)
            while try !isAtEnd(&offset, &left) { try pass(&offset, level + 1) }
        case CBORMajor.map:
            var left = try contents(&offset, level)
            while try !isAtEnd(&offset, &left) {
                try pass(&offset, level + 1)
                try pass(&offset, level + 1)
            }
        default: _ = try head(&offset)
        }
    }

    private func passTags(_ offset: inout Int, _ level: inout Int) throws(CBORError) {
        while try initial(offset) & CBORMajor.mask == CBORMajor.tag {
            guard level < depthLimit else { throw tooDeep(offset) }
            level += 1
            _ = try head(&offset)
        }
    }

    private func passString(_ offset: inout Int, _ initial: UInt8) throws(CBORError) {
        guard initial & 0x1F == 31 else { return try passChunk(&offset) }
        offset += 1
        while try self.initial(offset) != CBORByte.break {
            let chunk = try self.initial(offset)
            guard chunk & CBORMajor.mask == initial & CBORMajor.mask, chunk & 0x1F != 31 else {
                throw malformed(offset)
            }
            try passChunk(&offset)
        }
        offset += 1
    }

    private func passChunk(_ offset: inout Int) throws(CBORError) {
        let start = offset
        let length = try head(&offset)
        guard length <= UInt64(count - offset) else { throw truncated(start) }
        offset += Int(truncatingIfNeeded: length)
    }

    /// Passes the head of an array or a map.
    ///
    /// - Returns: How many elements or pairs follow; `nil` for as many as there are up to a break.
    private func contents(_ offset: inout Int, _ level: Int) throws(CBORError) -> Int? {
        guard level < depthLimit else { throw tooDeep(offset) }
        if try initial(offset) & 0x1F == 31 {
            offset += 1
            return nil
        }
        let start = offset
        let announced = try head(&offset)
        // Each takes a byte at least.
        guard announced <= UInt64(count - offset) else { throw truncated(start) }
        return Int(truncatingIfNeeded: announced)
    }

    /// Whether a container ends here; passes the break of an indefinite one.
    private func isAtEnd(_ offset: inout Int, _ left: inout Int?) throws(CBORError) -> Bool {
        guard let rest = left else {
            guard try initial(offset) == CBORByte.break else { return false }
            offset += 1
            return true
        }
        left = rest - 1
        return rest == 0
    }

    /// Passes a head, and with it the whole of an item without content.
    private func head(_ offset: inout Int) throws(CBORError) -> UInt64 {
        let initial = try initial(offset)
        guard initial & 0x1F < 28 else { throw malformed(offset) }
        let length = CBORHead.length(initial: initial)
        guard count - offset >= length else { throw truncated(offset) }
        defer { offset += length }
        return unsafe CBORHead.argument(base + offset)
    }

    private func initial(_ offset: Int) throws(CBORError) -> UInt8 {
        guard offset < count else { throw truncated(offset) }
        return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }

    // MARK: Faults

    private func truncated(_ offset: Int) -> CBORError {
        CBORError(.truncated, at: offset, "The document ends inside an item.")
    }

    private func malformed(_ offset: Int) -> CBORError {
        CBORError(
            .malformed,
            at: offset,
            "A break, an indefinite length or a reserved form stands where none is allowed."
        )
    }

    private func tooDeep(_ offset: Int) -> CBORError {
        CBORError(.tooDeep, at: offset, "The nesting exceeds the limit of \(depthLimit) levels.")
    }
}
