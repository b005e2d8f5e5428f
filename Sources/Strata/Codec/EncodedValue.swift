/// The bytes of a value, with the numbers of its codec and stages.
package struct EncodedValue: Sendable, Hashable {
    package var bytes: [UInt8]
    package var codec: UInt8
    /// 0 for none.
    package var compression: UInt8
    /// 0 for none.
    package var protection: UInt8
    package var schema: UInt32

    package init(bytes: [UInt8], codec: UInt8, compression: UInt8, protection: UInt8, schema: UInt32) {
        self.bytes = bytes
        self.codec = codec
        self.compression = compression
        self.protection = protection
        self.schema = schema
    }
}

/// Why the bytes of a value cannot be read.
///
/// Each is a miss.
package enum UnreadableValue: Error {
    /// Made by another codec, or compressed or protected in another way.
    case otherMaking
    /// Written under a schema number that is newer, or older without a migration.
    case otherSchema
    /// The bytes are not what their numbers say, or a migration has thrown.
    case undecodable(any Error)
}

extension Codec {
    /// The bytes of a value, with the numbers of its codec and stages.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - place: The place of the value, different from all others: protections are bound to it.
    /// - Returns: The bytes for ``open(_:at:)``.
    /// - Throws: ``CacheError/Code/codec`` with the codec's own error as its cause.
    package func seal(_ value: Value, at place: [UInt8]) throws -> EncodedValue {
        var encoded = EncodedValue(
            bytes: [],
            codec: identifier,
            compression: compression?.identifier ?? 0,
            protection: protection?.identifier ?? 0,
            schema: schema
        )
        encoded.bytes = try encode(value, context: context(of: encoded, place))
        return encoded
    }

    /// The value of bytes.
    ///
    /// - Parameters:
    ///   - encoded: The bytes, with the numbers beside them.
    ///   - place: The place of the value.
    /// - Returns: The value.
    /// - Throws: Why it cannot be read.
    package func open(_ encoded: EncodedValue, at place: [UInt8]) throws(UnreadableValue) -> Value {
        try check(encoded)
        let bytes: [UInt8]
        do {
            let isCompressed = encoded.compression != 0
            bytes = try undone(encoded.bytes, isCompressed: isCompressed, context: context(of: encoded, place))
            if encoded.schema == schema { return try decodeAlone(bytes) }
            if let migration {
                let older = OlderValue(schema: encoded.schema, codec: encoded.codec, bytes: bytes)
                if let value = try migration(older) { return value }
            }
        } catch {
            throw .undecodable(error)
        }
        throw .otherSchema
    }

    /// The bytes of a remembered absence: none, or what the protection makes of no bytes.
    ///
    /// Otherwise a user who can write into the store could make a protected cache say that there is no value.
    ///
    /// - Throws: What the protection throws.
    package func sealAbsence(at place: [UInt8]) throws -> EncodedValue {
        var encoded = EncodedValue(
            bytes: [],
            codec: identifier,
            compression: 0,
            protection: protection?.identifier ?? 0,
            schema: schema
        )
        guard let protection else { return encoded }
        encoded.bytes = try protection.apply([], absenceContext(of: encoded, place))
        return encoded
    }

    /// Reads an absence.
    ///
    /// - Throws: Why it cannot be read.
    package func openAbsence(_ encoded: EncodedValue, at place: [UInt8]) throws(UnreadableValue) {
        guard schema == encoded.schema else { throw .otherSchema }
        guard encoded.protection == protection?.identifier ?? 0 else { throw .otherMaking }
        guard let protection else { return }
        do { _ = try protection.undo(encoded.bytes, absenceContext(of: encoded, place)) } catch {
            throw .undecodable(error)
        }
    }

    /// As that of a value, with a compression number that does not exist.
    private func absenceContext(of encoded: EncodedValue, _ place: [UInt8]) -> [UInt8] {
        var marked = encoded
        marked.compression = .max
        return context(of: marked, place)
    }

    /// Whether the numbers beside bytes are those that this codec reads.
    ///
    /// - Throws: Why they are not.
    package func check(_ encoded: EncodedValue) throws(UnreadableValue) {
        // This comes first: the value of a newer release is its own, in any form.
        guard encoded.schema <= schema else { throw .otherSchema }
        guard encoded.codec == identifier, encoded.protection == protection?.identifier ?? 0,
            encoded.compression == 0 || encoded.compression == compression?.identifier
        else { throw .otherMaking }
        guard encoded.schema == schema || encoded.schema < schema && migration != nil else { throw .otherSchema }
    }

    /// The numbers are part of the context, so that a protection covers them, too.
    private func context(of encoded: EncodedValue, _ place: [UInt8]) -> [UInt8] {
        guard protection != nil else { return place }
        let schema = (0..<4).map { UInt8(truncatingIfNeeded: encoded.schema >> (8 * $0)) }
        return [encoded.codec, encoded.compression] + schema + place
    }
}
