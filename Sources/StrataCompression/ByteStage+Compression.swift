public import Strata

extension ByteStage {
    /// Compression in the zlib format (RFC 1950), by the system's zlib.
    ///
    /// - Parameters:
    ///   - level: From 1, fast, to 9, small.
    ///   - minimum: Values of fewer bytes are wrapped and not compressed, which would cost time and save next to
    ///     nothing.
    ///   - limit: The largest value in bytes, before compression: larger ones are neither written nor read. 4 GiB at
    ///     most.
    /// - Returns: A stage that throws ``/Strata/CacheError/Code/tooLarge`` beyond the limit (decompression stops
    ///   there), and ``/Strata/CacheError/Code/codec`` for bytes that are no complete stream with the right checksum.
    public static func zlib(level: Int = 6, minimum: Int = 128, limit: Int = defaultLimit) -> ByteStage {
        let (level, limit) = (Int32(min(max(level, 1), 9)), possible(limit))
        return compression(1, "zlib", limit) { bytes in
            // Level 0 wraps: the stream has 11 bytes more than the value.
            try Zlib.compress(bytes, level: bytes.count < minimum ? 0 : level)
        } undo: { bytes in
            try Zlib.decompress(bytes, limit: limit)
        }
    }

    /// Compression as Zstandard frames (RFC 8878), by the system's libzstd: several times as fast as zlib, and smaller.
    ///
    /// - Parameters:
    ///   - level: From 1, fast, to 19, small.
    ///   - limit: The largest value in bytes, before compression: larger ones are neither written nor read. 4 GiB at
    ///     most.
    /// - Returns: A stage that throws ``/Strata/CacheError/Code/tooLarge`` beyond the limit, and
    ///   ``/Strata/CacheError/Code/codec`` for bytes that are no frame with a declared size.
    public static func zstd(level: Int = 3, limit: Int = defaultLimit) -> ByteStage {
        let (level, limit) = (Int32(min(max(level, 1), 19)), possible(limit))
        return compression(2, "zstd", limit) { bytes in
            try Zstd.compress(bytes, level: level)
        } undo: { bytes in
            try Zstd.decompress(bytes, limit: limit)
        }
    }

    /// The default of the largest value that is compressed: 64 MiB.
    public static var defaultLimit: Int { 64 << 20 }

    /// zlib counts in 32 bits.
    private static func possible(_ limit: Int) -> Int { min(max(limit, 0), Int(UInt32.max)) }

    private static func compression(
        _ identifier: UInt8,
        _ name: String,
        _ limit: Int,
        apply: @escaping @Sendable ([UInt8]) throws -> [UInt8],
        undo: @escaping @Sendable ([UInt8]) throws -> [UInt8]
    ) -> ByteStage {
        ByteStage(identifier: identifier, name: name) { bytes, _ in
            guard bytes.count <= limit else {
                throw CacheError(code: .tooLarge, message: "values above \(limit) bytes are not compressed")
            }
            return try apply(bytes)
        } undo: { bytes, _ in
            try undo(bytes)
        }
    }

    static func inflatesTooFar(_ limit: Int) -> CacheError {
        CacheError(code: .tooLarge, message: "the bytes inflate to more than \(limit) bytes")
    }
}

extension Codec {
    /// This codec with its bytes compressed by zstd at its default level.
    ///
    /// Values that were written without compression can still be read.
    public func compressed() -> Codec { compressed(by: .zstd()) }
}
