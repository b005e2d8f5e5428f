/// The pass that checks a document and builds the index.
extension CBORReader {
    /// Checks the document.
    ///
    /// O(n) in its bytes, and O(k log k) for a map of k keys that are not in order.
    func scan() throws(CBORError) {
        var offset = 0
        try scanItem(&offset, level: 0)
        guard offset == count else {
            throw CBORError(.trailingBytes, at: offset, "\(count - offset) bytes follow the document's one item.")
        }
    }

    func scanItem(_ offset: inout Int, level: Int) throws(CBORError) {
        guard offset < count else { throw truncated(offset) }
        let initial = byte(offset)
        switch initial & CBORMajor.mask {
        case CBORMajor.unsigned, CBORMajor.negative:
            try scanHead(&offset, initial)
        case CBORMajor.bytes, CBORMajor.text:
            try scanString(&offset, initial)
        case CBORMajor.simple:
            let start = offset
            try scanHead(&offset, initial)
            // RFC 8949 §3.3: the two-byte form is for values from 32 on.
            if initial == CBORByte.simple && byte(start + 1) < 32 {
                throw CBORError(.malformed, at: start, "A simple value below 32 is written in two bytes.")
            }
        case CBORMajor.array:
            try scanArray(&offset, initial, level: level)
        case CBORMajor.map:
            try scanMap(&offset, initial, level: level)
        default:
            guard level < depthLimit else { throw tooDeep(offset) }
            try scanHead(&offset, initial)
            try scanItem(&offset, level: level &+ 1)
        }
    }

    /// Passes a head, and with it the whole of an item without content.
    @inline(__always)
    private func scanHead(_ offset: inout Int, _ initial: UInt8) throws(CBORError) {
        let info = initial & 0x1F
        if info < 24 {
            offset &+= 1
            return
        }
        guard info < 28 else {
            throw CBORError(
                .malformed,
                at: offset,
                info == 31 ? "A break or an indefinite length stands where none is allowed." : "A reserved length form."
            )
        }
        let length = CBORHead.length(initial: initial)
        guard count &- offset >= length else { throw truncated(offset) }
        offset &+= length
    }

    @inline(__always)
    private func scanString(_ offset: inout Int, _ initial: UInt8) throws(CBORError) {
        if initial & 0x1F == 31 {
            try scanChunks(&offset, initial)
            return
        }
        let start = offset
        try scanHead(&offset, initial)
        let length = argument(start)
        guard length <= UInt64(stringLimit) else { throw stringTooLong(start) }
        guard length <= UInt64(count &- offset) else { throw truncated(start) }
        offset &+= Int(truncatingIfNeeded: length)
    }

    /// Passes a string of indefinite length: definite strings of the same kind up to a break.
    private func scanChunks(_ offset: inout Int, _ initial: UInt8) throws(CBORError) {
        let start = offset
        var total = 0
        offset += 1
        while true {
            guard offset < count else { throw truncated(start) }
            let chunk = byte(offset)
            if chunk == CBORByte.break { break }
            guard chunk & CBORMajor.mask == initial & CBORMajor.mask, chunk & 0x1F != 31 else {
                throw CBORError(
                    .malformed,
                    at: offset,
                    "A chunk of an indefinite string is not a definite string of its kind."
                )
            }
            let head = offset
            try scanString(&offset, chunk)
            total += Int(truncatingIfNeeded: argument(head))
            guard total <= stringLimit else { throw stringTooLong(start) }
        }
        offset += 1
    }

    // MARK: Containers

    /// Passes the head of an array or a map.
    ///
    /// - Returns: The announced number of elements or pairs, or `nil` for an indefinite length.
    private func scanContainerHead(
        _ offset: inout Int,
        _ initial: UInt8,
        level: Int,
        itemsPerElement: Int
    ) throws(CBORError) -> Int? {
        guard level < depthLimit else { throw tooDeep(offset) }
        if initial & 0x1F == 31 {
            offset &+= 1
            return nil
        }
        let start = offset
        try scanHead(&offset, initial)
        let announced = argument(start)
        guard announced <= UInt64(elementLimit &- elementCount) else { throw tooManyElements(start) }
        // Each item takes a byte at least.
        guard announced <= UInt64((count &- offset) / itemsPerElement) else { throw truncated(start) }
        elementCount &+= Int(truncatingIfNeeded: announced)
        return Int(truncatingIfNeeded: announced)
    }

    /// Notes that a container begins.
    private func begin(_ start: Int, content: Int) -> Int {
        containers.append(
            Container(
                start: UInt32(truncatingIfNeeded: start),
                content: UInt32(truncatingIfNeeded: content),
                end: 0,
                following: 0,
                count: 0,
                position: UInt32(truncatingIfNeeded: content),
                cursor: 0,
                note: UInt32(truncatingIfNeeded: containers.count &+ 1)
            )
        )
        return containers.count &- 1
    }

    private func scanArray(_ offset: inout Int, _ initial: UInt8, level: Int) throws(CBORError) {
        let start = offset
        let announced = try scanContainerHead(&offset, initial, level: level, itemsPerElement: 1)
        let number = begin(start, content: offset)
        var index = 0
        do {
            while try !isAtEnd(&offset, index, of: announced, start) {
                try scanItem(&offset, level: level &+ 1)
                index &+= 1
            }
        } catch {
            throw error.within(CBORKey(index: index))
        }
        let container = unsafe containers.base + number
        unsafe container.pointee.end = UInt32(truncatingIfNeeded: offset)
        unsafe container.pointee.following = UInt32(truncatingIfNeeded: containers.count)
        unsafe container.pointee.count = UInt32(truncatingIfNeeded: index)
    }

    private func scanMap(_ offset: inout Int, _ initial: UInt8, level: Int) throws(CBORError) {
        let start = offset
        let announced = try scanContainerHead(&offset, initial, level: level, itemsPerElement: 2)
        let number = begin(start, content: offset)
        let first = openEntries.count
        var index = 0
        var isOrdered = true
        var hasIntegerKeys = false
        while try !isAtEnd(&offset, index, of: announced, start) {
            var entry = try scanKey(&offset, level: level &+ 1)
            entry.value = UInt32(truncatingIfNeeded: offset)
            entry.container = UInt32(truncatingIfNeeded: containers.count)
            hasIntegerKeys = hasIntegerKeys || entry.prefix < 0x40 << 56
            do {
                try scanItem(&offset, level: level &+ 1)
            } catch {
                throw error.within(key(of: entry))
            }
            if isOrdered && index > 0 {
                let previous = unsafe openEntries.base[openEntries.count &- 1]
                isOrdered =
                    previous.prefix < entry.prefix
                    || (previous.prefix == entry.prefix && compareKeys(previous, entry) < 0)
            }
            openEntries.append(entry)
            index &+= 1
        }
        let container = unsafe containers.base + number
        unsafe container.pointee.end = UInt32(truncatingIfNeeded: offset)
        unsafe container.pointee.following = UInt32(truncatingIfNeeded: containers.count)
        unsafe container.pointee.position = UInt32(truncatingIfNeeded: entries.count)
        unsafe container.pointee.note = hasIntegerKeys ? 1 : 0
        if isOrdered {
            entries.append(from: openEntries, after: first)
        } else {
            index = try appendOrdered(after: first)
        }
        unsafe container.pointee.count = UInt32(truncatingIfNeeded: index)
        openEntries.truncate(to: first)
    }

    /// Whether a container ends here; passes the break of an indefinite one.
    @inline(__always)
    private func isAtEnd(_ offset: inout Int, _ index: Int, of announced: Int?, _ start: Int) throws(CBORError) -> Bool
    {
        if let announced { return index == announced }
        guard offset < count else { throw truncated(start) }
        if byte(offset) == CBORByte.break {
            offset &+= 1
            return true
        }
        guard elementCount < elementLimit else { throw tooManyElements(start) }
        elementCount &+= 1
        return false
    }

    // MARK: Faults

    @inline(never)
    private func truncated(_ offset: Int) -> CBORError {
        CBORError(.truncated, at: offset, "The document ends inside an item.")
    }

    @inline(never)
    private func tooDeep(_ offset: Int) -> CBORError {
        CBORError(.tooDeep, at: offset, "The nesting exceeds the limit of \(depthLimit) levels.")
    }

    @inline(never)
    private func tooManyElements(_ offset: Int) -> CBORError {
        CBORError(.tooManyElements, at: offset, "The document exceeds the limit of \(elementLimit) elements.")
    }

    @inline(never)
    private func stringTooLong(_ offset: Int) -> CBORError {
        CBORError(.stringTooLong, at: offset, "A string exceeds the limit of \(stringLimit) bytes.")
    }
}
