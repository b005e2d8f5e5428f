/// A change of encoded bytes that can be undone: compression, encryption, a checksum.
public struct ByteStage: Sendable, CustomStringConvertible {
    /// The number by which an envelope names the stage.
    ///
    /// Compressions and protections are numbered each for themselves. 0 stands for none, numbers below 128 are
    /// Strata's.
    public let identifier: UInt8
    /// A short name, for a person.
    public let description: String
    let apply: @Sendable (_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8]
    let undo: @Sendable (_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8]

    /// A stage of two closures.
    ///
    /// Both also get a context: bytes that stand for the place of the value, such as its full key in Redis. A
    /// protection that covers the context refuses a value that was moved to another key. The context is empty where
    /// there is no such place.
    ///
    /// - Parameters:
    ///   - identifier: Written beside the bytes; neither 0 nor 255.
    ///   - name: A short name, for a person.
    ///   - apply: The change.
    ///   - undo: The way back. Called with any stored bytes, also hostile ones: it throws on these, and limits the size
    ///     of its result.
    public init(
        identifier: UInt8,
        name: String,
        apply: @escaping @Sendable (_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8],
        undo: @escaping @Sendable (_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8]
    ) {
        precondition(identifier != 0 && identifier != .max, "0 stands for no stage, 255 for an absence")
        self.identifier = identifier
        self.description = name
        self.apply = apply
        self.undo = undo
    }
}

extension Codec {
    /// This codec with its bytes compressed.
    ///
    /// Compression comes before protection, whichever you add first. A level notes with each value how its bytes were
    /// made, so it can still read those without compression, and a running service can change to it. Bytes that you
    /// transform yourself (`transformValues`) bear no such note: there all of them have to be made alike.
    ///
    /// - Parameter stage: The compression, in the place of an earlier one.
    /// - Returns: The codec with its compression.
    public func compressed(by stage: ByteStage) -> Codec {
        var codec = self
        codec.compression = stage
        return codec
    }

    /// This codec with its bytes protected.
    ///
    /// Values and remembered absences that were written without this protection are not read: otherwise any user who
    /// can write into the store could bypass it.
    ///
    /// - Parameter stage: The protection, in the place of an earlier one.
    /// - Returns: The codec with its protection.
    public func protected(by stage: ByteStage) -> Codec {
        var codec = self
        codec.protection = stage
        return codec
    }
}
