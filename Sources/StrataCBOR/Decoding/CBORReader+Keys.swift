/// The keys of maps: their canonical form, their order, and finding one.
extension CBORReader {
    /// Passes a key and gives the entry for it, its value not yet filled in.
    @inline(__always)
    func scanKey(_ offset: inout Int, level: Int) throws(CBORError) -> Entry {
        let start = offset
        // Nearly every key: text with the length in the initial byte.
        if start < count {
            let length = Int(byte(start)) &- 0x60
            if length >= 0 && length < 24 && length < count &- start && length <= stringLimit {
                offset = start &+ 1 &+ length
                let prefix = unsafe CBORKeyPrefix.text(base + (start &+ 1), count: length)
                return Entry(prefix: prefix, key: UInt32(truncatingIfNeeded: start), value: 0, container: 0)
            }
        }
        return try scanOtherKey(&offset, level: level)
    }

    private func scanOtherKey(_ offset: inout Int, level: Int) throws(CBORError) -> Entry {
        let start = offset
        try scanItem(&offset, level: level)
        let initial = byte(start)
        var key = start
        switch initial & CBORMajor.mask {
        case CBORMajor.unsigned, CBORMajor.negative:
            if CBORHead.length(initial: initial) != CBORHead.length(for: argument(start)) {
                key = rewrite { $0.head(initial & CBORMajor.mask, argument(start)) }
            }
        case CBORMajor.text, CBORMajor.bytes:
            if initial & 0x1F == 31 || CBORHead.length(initial: initial) != CBORHead.length(for: argument(start)) {
                key = rewrite { output in
                    var length = 0
                    unsafe forEachChunk(start) { length += $0.count }
                    output.head(initial & CBORMajor.mask, UInt64(length))
                    unsafe forEachChunk(start) { unsafe output.raw($0) }
                }
            }
        default:
            // No key that `Codable` could ask for. It is only compared with others to find a repetition, as it stands:
            // to bring containers into canonical form, which may be keys of keys of keys, is not worth the work that it
            // would offer to an attacker.
            break
        }
        let bytes = unsafe keyBytes(key, end: offset)
        let prefix = unsafe bytes.baseAddress.map { unsafe CBORKeyPrefix.firstBytes($0, count: bytes.count) }
        return Entry(prefix: prefix ?? 0, key: UInt32(truncatingIfNeeded: key), value: 0, container: 0)
    }

    /// Keeps the canonical form of a key beside the document.
    ///
    /// - Returns: Its offset, counted on from the document's end.
    private func rewrite(_ write: (inout CBOROutput) -> Void) -> Int {
        let offset = count + rewrittenKeys.count
        write(&rewrittenKeys)
        return offset
    }

    /// The bytes of a canonical key, valid until the next key is rewritten.
    private func keyBytes(_ key: Int, end: Int) -> UnsafeRawBufferPointer {
        if key < count {
            return unsafe UnsafeRawBufferPointer(start: base + key, count: end - key)
        }
        let start = key - count
        return unsafe UnsafeRawBufferPointer(
            start: rewrittenKeys.base + start,
            count: CBORHead.keyLength(rewrittenKeys.base + start)
        )
    }

    private func keyBytes(_ entry: Entry) -> UnsafeRawBufferPointer {
        unsafe keyBytes(Int(entry.key), end: Int(entry.value))
    }

    /// Compares two keys bytewise in their canonical form.
    func compareKeys(_ left: Entry, _ right: Entry) -> Int {
        if left.prefix != right.prefix { return left.prefix < right.prefix ? -1 : 1 }
        let leftBytes = unsafe keyBytes(left)
        let rightBytes = unsafe keyBytes(right)
        let rest = min(leftBytes.count, rightBytes.count) - 8
        if rest > 0, let a = leftBytes.baseAddress, let b = rightBytes.baseAddress {
            let order = unsafe CBORKeyPrefix.compare(a + 8, b + 8, count: rest)
            if order != 0 { return order }
        }
        return leftBytes.count - rightBytes.count
    }

    /// The key of an entry for a coding path: text and integers as they are, any other kind as nothing but its place.
    func key(of entry: Entry) -> CBORKey {
        codingKey(of: entry) ?? CBORKey(stringValue: "")
    }

    /// The key of an entry, if it is text or an integer that fits.
    func codingKey(of entry: Entry) -> CBORKey? {
        unsafe CBORHead.codingKey(keyBytes(entry))
    }

    // MARK: Order

    /// Moves the open entries from an index on into the index in the order of their keys.
    ///
    /// - Returns: How many there are without repetitions.
    func appendOrdered(after first: Int) throws(CBORError) -> Int {
        var pairs = unsafe openEntries.slice(from: first)
        unsafe pairs.sort { left, right in
            let order = compareKeys(left, right)
            return order < 0 || (order == 0 && left.value < right.value)
        }
        var kept = 0
        for index in pairs.indices {
            let pair = unsafe pairs[index]
            if unsafe index > 0 && compareKeys(pairs[index - 1], pair) == 0 {
                switch decoder.duplicateKeys {
                case .reject:
                    let place = min(Int(pair.key), Int(pair.value))
                    throw CBORError(.duplicateKey, at: place, "A map holds a key twice.", codingPath: [key(of: pair)])
                case .useFirst:
                    continue
                case .useLast:
                    entries.truncate(to: entries.count - 1)
                    kept -= 1
                }
            }
            entries.append(pair)
            kept += 1
        }
        return kept
    }

    // MARK: Finding

    /// The entry of a map for a text key, or `nil`.
    ///
    /// O(1) if the keys are asked for in the order of the document, else O(k) for up to 16 keys and O(log k) beyond.
    @inline(never)
    func find(_ name: UnsafeBufferPointer<UInt8>, in number: Int) -> UnsafeMutablePointer<Entry>? {
        guard let start = unsafe UnsafeRawPointer(name.baseAddress) else {
            return unsafe find(prefix: 0x60 << 56, nil, in: number)
        }
        let prefix = unsafe CBORKeyPrefix.text(start, count: name.count)
        return unsafe find(prefix: prefix, UnsafeRawBufferPointer(name), in: number)
    }

    /// The entry of a map for an integer key, or `nil`.
    func find(_ integer: Int, in number: Int) -> UnsafeMutablePointer<Entry>? {
        let major = integer < 0 ? CBORMajor.negative : CBORMajor.unsigned
        let argument = UInt64(bitPattern: Int64(integer < 0 ? ~integer : integer))
        var bytes = (major, argument.bigEndian)
        let prefix = CBORKeyPrefix.integer(major: major, argument)
        // Only the longest form, nine bytes, has anything behind its prefix.
        guard argument > UInt64(UInt32.max) else { return unsafe find(prefix: prefix, nil, in: number) }
        return unsafe withUnsafeBytes(of: &bytes.1) { unsafe find(prefix: prefix, $0, in: number) }
    }

    /// The entry with a prefix, and with a payload, what the key holds behind its head, if it is longer than its
    /// prefix.
    @inline(__always)
    private func find(
        prefix: UInt64,
        _ payload: UnsafeRawBufferPointer?,
        in number: Int
    ) -> UnsafeMutablePointer<Entry>? {
        let container = unsafe containers.base + number
        let first = unsafe entries.base + Int(container.pointee.position)
        let count = unsafe Int(container.pointee.count)
        let cursor = unsafe Int(container.pointee.cursor)
        var index = cursor
        if unsafe cursor >= count || !matches(first + cursor, prefix, payload) {
            index =
                unsafe count <= 16
                ? search(first, count, prefix, payload) : bisect(first, count, prefix, payload)
            if index == count { return nil }
        }
        unsafe container.pointee.cursor = UInt32(truncatingIfNeeded: index &+ 1)
        return unsafe first + index
    }

    @inline(__always)
    private func matches(
        _ entry: UnsafeMutablePointer<Entry>,
        _ prefix: UInt64,
        _ payload: UnsafeRawBufferPointer?
    ) -> Bool {
        guard unsafe entry.pointee.prefix == prefix else { return false }
        return unsafe compareRest(entry, payload) == 0
    }

    /// Compares what lies behind equal prefixes: the sign of the entry's key minus the payload.
    @inline(__always)
    private func compareRest(_ entry: UnsafeMutablePointer<Entry>, _ payload: UnsafeRawBufferPointer?) -> Int {
        guard let payload = unsafe payload, payload.count > 7 else { return 0 }
        return unsafe compareLongRest(entry, payload)
    }

    private func compareLongRest(_ entry: UnsafeMutablePointer<Entry>, _ payload: UnsafeRawBufferPointer) -> Int {
        let bytes = unsafe keyBytes(entry.pointee)
        // Equal prefixes hold equal heads, so that the lengths are equal too.
        let known = 8 - (bytes.count - payload.count)
        guard let a = bytes.baseAddress, let b = payload.baseAddress else { return 0 }
        return unsafe CBORKeyPrefix.compare(a + 8, b + known, count: payload.count - known)
    }

    private func search(
        _ first: UnsafeMutablePointer<Entry>,
        _ count: Int,
        _ prefix: UInt64,
        _ payload: UnsafeRawBufferPointer?
    ) -> Int {
        var index = 0
        while unsafe index < count && !matches(first + index, prefix, payload) { index &+= 1 }
        return index
    }

    private func bisect(
        _ first: UnsafeMutablePointer<Entry>,
        _ count: Int,
        _ prefix: UInt64,
        _ payload: UnsafeRawBufferPointer?
    ) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low &+ high) / 2
            let entry = unsafe first + middle
            let isBelow =
                unsafe entry.pointee.prefix == prefix
                ? compareRest(entry, payload) < 0 : entry.pointee.prefix < prefix
            if isBelow {
                low = middle &+ 1
            } else {
                high = middle
            }
        }
        return unsafe low < count && matches(first + low, prefix, payload) ? low : count
    }
}
