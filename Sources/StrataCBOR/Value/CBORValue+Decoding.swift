extension CBORValue {
    /// Reads a document.
    ///
    /// - Parameters:
    ///   - bytes: The document, and nothing behind it.
    ///   - limits: What is accepted.
    /// - Throws: ``CBORError`` if the document is not well-formed, exceeds a limit, repeats a key or holds text that is
    ///   not UTF-8.
    package init(decoding bytes: [UInt8], limits: CBORLimits = CBORLimits()) throws {
        var decoder = CBORDecoder()
        decoder.limits = limits
        self = try unsafe bytes.withUnsafeBytes { bytes in
            let reader = unsafe try CBORReader(decoder, bytes)
            try reader.scan()
            var offset = 0
            return try reader.value(&offset)
        }
    }
}

extension CBORValue {
    /// The item that a value is to be decoded from; `nil` for a decoder of another format.
    ///
    /// - Throws: ``CBORError`` for text that is not UTF-8.
    package init?(itemOf decoder: any Decoder) throws {
        guard let item = decoder as? CBORItem else { return nil }
        guard !item.isMissing else {
            self = .null
            return
        }
        var offset = Int(item.offset)
        self = try item.reader.value(&offset)
    }
}

extension CBORReader {
    /// Reads the item at an offset and goes on behind it; the scan has bounded the nesting.
    fileprivate func value(_ offset: inout Int) throws -> CBORValue {
        let start = offset
        let initial = byte(offset)
        let argument = argument(offset)
        offset += CBORHead.length(initial: initial)
        switch initial & CBORMajor.mask {
        case CBORMajor.unsigned:
            return .unsigned(argument)
        case CBORMajor.negative:
            return .negative(argument)
        case CBORMajor.bytes, CBORMajor.text:
            let place = Place(offset: start, container: 0)
            offset = following(place).offset
            return initial & CBORMajor.mask == CBORMajor.bytes
                ? .bytes(try bytes(at: place, for: [UInt8].self)) : .text(try string(at: place))
        case CBORMajor.array:
            return .array(try elements(&offset, initial, argument) { try value(&$0) })
        case CBORMajor.map:
            return .map(try elements(&offset, initial, argument) { CBORValue.Pair(try value(&$0), try value(&$0)) })
        case CBORMajor.tag:
            return .tagged(argument, try value(&offset))
        default:
            return simple(start, initial, argument)
        }
    }

    private func elements<Element>(
        _ offset: inout Int,
        _ initial: UInt8,
        _ argument: UInt64,
        _ read: (inout Int) throws -> Element
    ) throws -> [Element] {
        let isIndefinite = initial & 0x1F == 31
        var result: [Element] = []
        while isIndefinite ? byte(offset) != CBORByte.break : result.count < argument {
            result.append(try read(&offset))
        }
        if isIndefinite { offset += 1 }
        return result
    }

    private func simple(_ offset: Int, _ initial: UInt8, _ argument: UInt64) -> CBORValue {
        switch initial {
        case CBORByte.false: .bool(false)
        case CBORByte.true: .bool(true)
        case CBORByte.null: .null
        case CBORByte.undefined: .undefined
        case CBORByte.half, CBORByte.single, CBORByte.double: .float(floatingPoint(offset, initial))
        default: .simple(UInt8(truncatingIfNeeded: argument))
        }
    }
}
