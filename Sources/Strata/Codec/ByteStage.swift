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
    /// Both get a context as well: bytes that belong to the place where the value is kept, such as its full key in
    /// Redis. A protection that covers the context refuses a value that was moved to another key. Empty where there is
    /// no such place.
    ///
    /// - Parameters:
    ///   - identifier: Written beside the bytes; not 0.
    ///   - name: A short name, for a person.
    ///   - apply: The change.
    ///   - undo: The way back. Called with whatever was stored, and so with hostile bytes: it throws, and keeps to a
    ///     limit of what it makes of them.
    public init(
        identifier: UInt8,
        name: String,
        apply: @escaping @Sendable (_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8],
        undo: @escaping @Sendable (_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8]
    ) {
        precondition(identifier != 0, "0 stands for no stage")
        self.identifier = identifier
        self.description = name
        self.apply = apply
        self.undo = undo
    }
}

extension Codec {
    /// This codec with its bytes compressed.
    ///
    /// Compression comes before protection, in whichever order they are added. What was written without compression can
    /// still be read, so that a running service can change to it.
    ///
    /// - Parameter stage: In place of any other compression.
    /// - Returns: The codec with its compression.
    public func compressed(by stage: ByteStage) -> Codec {
        var codec = self
        codec.compression = stage
        return codec
    }

    /// This codec with its bytes protected.
    ///
    /// What was written without this protection is not read: whoever can write into the store could otherwise pass by
    /// it.
    ///
    /// - Parameter stage: In place of any other protection.
    /// - Returns: The codec with its protection.
    public func protected(by stage: ByteStage) -> Codec {
        var codec = self
        codec.protection = stage
        return codec
    }
}
