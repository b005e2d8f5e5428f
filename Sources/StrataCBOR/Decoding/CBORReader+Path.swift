/// Coding paths, found on demand by walking the index down to an offset: a decode that succeeds pays nothing
/// for them.
extension CBORReader {
    /// The path of the item at an offset.
    ///
    /// O(1) for each container on the way if the item lies in the element or value read last, as it does when a read
    /// fails; else O(n) in the elements or keys beside it. Types that try one form after the other would be quadratic
    /// without that.
    func path(to offset: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var place = untagged(Place(offset: 0, container: 0))
        while offset > place.offset {
            let found =
                major(place.offset) == CBORMajor.array
                ? element(of: place, holding: offset) : value(of: place, holding: offset)
            guard let (key, inner) = found else { break }
            path.append(key)
            if inner.offset == offset { break }
            place = untagged(inner)
        }
        return path
    }

    private func element(of array: Place, holding offset: Int) -> (CBORKey, Place)? {
        let container = unsafe containers.base[array.container]
        var element = Place(offset: Int(container.content), container: array.container + 1)
        var first = 0
        if container.position <= offset {
            element = Place(offset: Int(container.position), container: Int(container.note))
            first = Int(container.cursor)
        }
        for index in first..<max(first, Int(container.count)) {
            let next = following(element)
            if offset < next.offset { return (CBORKey(index: index), element) }
            element = next
        }
        return nil
    }

    private func value(of map: Place, holding offset: Int) -> (CBORKey, Place)? {
        guard major(map.offset) == CBORMajor.map else { return nil }
        let container = unsafe containers.base[map.container]
        if container.cursor > 0, container.cursor <= container.count {
            let last = unsafe entries.base[Int(container.position + container.cursor) - 1]
            let place = Place(offset: Int(last.value), container: Int(last.container))
            if place.offset <= offset && offset < following(place).offset { return (key(of: last), place) }
        }
        var found: Entry?
        for index in container.pairs {
            let entry = unsafe entries.base[index]
            if entry.value <= offset && entry.value > found?.value ?? 0 { found = entry }
        }
        return found.map { (key(of: $0), Place(offset: Int($0.value), container: Int($0.container))) }
    }

    // MARK: Errors

    /// The item is of another kind than the type needs.
    @inline(never)
    func mismatch(_ type: any Any.Type, at place: Place) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: path(to: place.offset),
            debugDescription: "Expected \(type) but found \(kind(at: place))."
        )
        return isNull(place) ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// The number is out of the range of the type or would lose digits.
    @inline(never)
    func doesNotFit(_ type: any Any.Type, at place: Place) -> DecodingError {
        corrupted("The number does not fit in \(type).", at: place)
    }

    /// The item is of the right kind, but does not hold what the type needs.
    @inline(never)
    func corrupted(_ message: String, at place: Place) -> DecodingError {
        .dataCorrupted(.init(codingPath: path(to: place.offset), debugDescription: message))
    }

    /// The text is not UTF-8.
    @inline(never)
    func invalidText(at place: Place) -> CBORError {
        CBORError(.invalidText, at: place.offset, "A text string is not UTF-8.", codingPath: path(to: place.offset))
    }

    private func kind(at place: Place) -> String {
        let initial = byte(untagged(place).offset)
        switch initial & CBORMajor.mask {
        case CBORMajor.unsigned, CBORMajor.negative: return "an integer"
        case CBORMajor.bytes: return "a byte string"
        case CBORMajor.text: return "a text string"
        case CBORMajor.array: return "an array"
        case CBORMajor.map: return "a map"
        default: break
        }
        switch initial {
        case CBORByte.false, CBORByte.true: return "a truth value"
        case CBORByte.null, CBORByte.undefined: return "null"
        case CBORByte.half, CBORByte.single, CBORByte.double: return "a floating-point number"
        default: return "a simple value"
        }
    }
}
