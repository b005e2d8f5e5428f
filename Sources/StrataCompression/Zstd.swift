internal import CZstd
internal import Strata

/// Zstandard frames (RFC 8878) by the system's libzstd.
enum Zstd {
    static func compress(_ bytes: [UInt8], level: Int32) throws -> [UInt8] {
        var code = 0
        let compressed = unsafe [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(bytes.count)) { target, count in
            code = unsafe ZSTD_compress(target.baseAddress, target.count, bytes, bytes.count, level)
            count = ZSTD_isError(code) == 0 ? code : 0
        }
        guard ZSTD_isError(code) == 0 else { throw CacheError(code: .codec, message: "zstd cannot compress") }
        return compressed
    }

    /// Only frames that declare their size are taken, as those of ``compress(_:level:)`` do.
    ///
    /// The size is looked at before anything is allocated, and libzstd keeps to it.
    static func decompress(_ bytes: [UInt8], limit: Int) throws -> [UInt8] {
        let declared = unsafe ZSTD_getFrameContentSize(bytes, bytes.count)
        guard declared != strata_zstd_size_unknown(), declared != strata_zstd_size_error(),
            unsafe ZSTD_findFrameCompressedSize(bytes, bytes.count) == bytes.count
        else { throw damaged }
        guard declared <= UInt64(limit) else { throw ByteStage.inflatesTooFar(limit) }
        let size = Int(declared)
        // A block of 3 bytes stands for 128 KiB at most, so a short frame cannot claim memory that it does not fill.
        guard size / 131_072 <= bytes.count / 3 else { throw damaged }
        var code = 0
        let output = unsafe [UInt8](unsafeUninitializedCapacity: size) { target, count in
            code = unsafe ZSTD_decompress(target.baseAddress, target.count, bytes, bytes.count)
            count = ZSTD_isError(code) == 0 ? code : 0
        }
        guard ZSTD_isError(code) == 0, output.count == size else { throw damaged }
        return output
    }

    private static var damaged: CacheError {
        CacheError(code: .codec, message: "the bytes are not a zstd frame that states its size")
    }
}
