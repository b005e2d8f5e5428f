/// Putting maps into the order of RFC 8949 §4.2.1, and nested writers' bytes into their place.
extension CBORWriter {
    /// Writes a key and notes where its pair begins.
    @inline(__always)
    func beginEntry(_ slot: CBORSlot, _ key: some CodingKey) throws {
        guard !usesIntegerKeys else {
            try beginIntegerEntry(slot, key)
            return
        }
        var name = key.stringValue
        try name.withUTF8 { unsafe try beginEntry(slot, $0) }
    }

    /// Writes an integer for a key that has one, if that leads back to the same key.
    ///
    /// The keys of a dictionary by `String` have an integer value too wherever the text reads as one; "01" and "1" must
    /// not meet.
    @inline(never)
    private func beginIntegerEntry(_ slot: CBORSlot, _ key: some CodingKey) throws {
        var name = key.stringValue
        guard let number = key.intValue, Int(name) == nil || name == String(number) else {
            try name.withUTF8 { unsafe try beginEntry(slot, $0) }
            return
        }
        guard isCurrent(slot) else { throw misuse() }
        let start = output.count
        let major = number < 0 ? CBORMajor.negative : CBORMajor.unsigned
        let argument = UInt64(bitPattern: Int64(number < 0 ? ~number : number))
        output.head(major, argument)
        addEntry(CBORKeyPrefix.integer(major: major, argument), start)
    }

    /// Writes a text key.
    @inline(never)
    func beginEntry(_ slot: CBORSlot, _ name: UnsafeBufferPointer<UInt8>) throws {
        guard isCurrent(slot) else { throw misuse() }
        let start = output.count
        guard let text = unsafe UnsafeRawPointer(name.baseAddress), name.count > 0 else {
            output.byte(CBORMajor.text)
            addEntry(0x60 << 56, start)
            return
        }
        let prefix = unsafe CBORKeyPrefix.text(text, count: name.count)
        if name.count < 24 {
            unsafe output.shortKey(prefix, text, count: name.count)
        } else {
            output.head(CBORMajor.text, UInt64(truncatingIfNeeded: name.count))
            unsafe output.raw(UnsafeRawBufferPointer(name))
        }
        addEntry(prefix, start)
    }

    @inline(__always)
    private func addEntry(_ prefix: UInt64, _ start: Int) {
        if unsafe top.pointee.count > 0 && entries.base[entries.count &- 1].prefix >= prefix {
            // Equal prefixes may still be in order, or the same key again: left to the comparison at the end.
            unsafe top.pointee.isOrdered = false
        }
        entries.append(Entry(prefix: prefix, start: start, length: 0))
        unsafe top.pointee.count &+= 1
    }

    /// Takes the last key back, after its value could not be encoded.
    func abandonEntry(_ slot: CBORSlot) {
        guard isCurrent(slot), unsafe top.pointee.count > 0 else { return }
        let last = entries.count - 1
        unsafe output.truncate(to: entries.base[last].start)
        entries.truncate(to: last)
        unsafe top.pointee.count -= 1
    }

    /// Sorts the pairs of the map on top by their encoded keys; of a key that was written twice the later pair stays.
    ///
    /// O(n log n) comparisons, nearly all of them of eight-byte prefixes, and two copies of the map's bytes.
    func orderEntries() {
        let first = unsafe top.pointee.firstEntry
        var pairs = unsafe entries.slice(from: first)
        guard let earliest = unsafe pairs.first?.start else { return }
        var end = output.count
        for index in pairs.indices.reversed() {
            unsafe pairs[index].length = end - pairs[index].start
            unsafe end = pairs[index].start
        }
        if pairs.count <= 32 {
            unsafe sortByInsertion(pairs)
        } else {
            unsafe pairs.sort { precedes($0, $1) }
        }

        let length = output.count - earliest
        output.reserve(length + 2 * CBOROutput.slack)
        let target = unsafe output.base + earliest
        let copy = unsafe target + (length + CBOROutput.slack)
        unsafe copy.copyMemory(from: target, byteCount: length)
        var written = 0
        var kept = 0
        for index in pairs.indices {
            let pair = unsafe pairs[index]
            // Of equal keys, which stand in the order in which they were written, the last one stays.
            if unsafe index + 1 < pairs.count && pair.prefix == pairs[index + 1].prefix
                && compareKeys(pair, pairs[index + 1], in: copy - earliest) == 0
            {
                continue
            }
            unsafe CBOROutput.copy(copy + (pair.start - earliest), to: target + written, count: pair.length)
            written += pair.length
            kept += 1
        }
        output.truncate(to: earliest + written)
        unsafe top.pointee.count = kept
    }

    private func sortByInsertion(_ pairs: UnsafeMutableBufferPointer<Entry>) {
        for index in 1..<max(pairs.count, 1) {
            let pair = unsafe pairs[index]
            var place = index
            while unsafe place > 0 && precedes(pair, pairs[place &- 1]) {
                unsafe pairs[place] = pairs[place &- 1]
                place &-= 1
            }
            unsafe pairs[place] = pair
        }
    }

    @inline(__always)
    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        let order = unsafe compareKeys(left, right, in: UnsafeRawPointer(output.base))
        return order < 0 || (order == 0 && left.start < right.start)
    }

    /// Compares two keys with equal prefixes, whose lengths are therefore equal too.
    private func compareKeys(_ left: Entry, _ right: Entry, in bytes: UnsafeRawPointer) -> Int {
        let a = unsafe bytes + left.start
        let b = unsafe bytes + right.start
        let rest = unsafe CBORHead.keyLength(a) - 8
        return unsafe rest > 0 ? CBORKeyPrefix.compare(a + 8, b + 8, count: rest) : 0
    }

    /// Puts the bytes of the top frame's nested writers into their place.
    ///
    /// O(n) in the bytes behind the first of them.
    func placeChildren() {
        let first = unsafe top.pointee.firstChild
        let waiting = children[first...]
        for child in waiting {
            child.writer.finish()
            failure = failure ?? child.writer.failure
        }
        let added = waiting.reduce(0) { $0 + $1.writer.output.count }
        output.reserve(added)
        var shift = added
        var end = output.count
        var entry = entries.count
        let isMap = unsafe top.pointee.form == .map
        for child in waiting.reversed() {
            output.move(from: child.place, upTo: end, by: shift)
            if isMap {
                while unsafe entry > top.pointee.firstEntry && entries.base[entry - 1].start >= child.place {
                    entry -= 1
                    unsafe entries.base[entry].start += shift
                }
            }
            shift -= child.writer.output.count
            end = child.place
            output.write(child.writer.output, at: child.place + shift)
            child.writer.end()
        }
        output.count += added
        children.removeSubrange(first...)
    }

    /// Closes all frames of a nested writer.
    private func finish() {
        while frames.count > 0 { close() }
    }
}
