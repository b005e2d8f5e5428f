internal import CZlib
internal import Strata

/// The zlib format (RFC 1950) by the system's zlib.
enum Zlib {
    /// The first room for what comes out; doubled until it fits or the limit is reached.
    private static let firstRoom = 4_096

    static func compress(_ bytes: [UInt8], level: Int32) throws -> [UInt8] {
        let room = Int(compressBound(uLong(bytes.count)))
        var status = Z_OK
        let compressed = unsafe [UInt8](unsafeUninitializedCapacity: room) { target, count in
            var length = uLong(target.count)
            status = unsafe compress2(target.baseAddress, &length, bytes, uLong(bytes.count), level)
            count = status == Z_OK ? Int(length) : 0
        }
        guard status == Z_OK else { throw CacheError(code: .codec, message: "zlib cannot compress (\(status))") }
        return compressed
    }

    /// Grows what it fills only as far as there is something to fill it with, and to the limit at most.
    static func decompress(_ bytes: [UInt8], limit: Int) throws -> [UInt8] {
        guard bytes.count <= Int(UInt32.max) else { throw damaged }
        var stream = unsafe z_stream()
        guard unsafe strata_inflate_init(&stream) == Z_OK else {
            throw CacheError(code: .codec, message: "zlib cannot start")
        }
        defer { unsafe inflateEnd(&stream) }
        var output: [UInt8] = []
        var room = min(limit, max(firstRoom, bytes.count))
        var status = Z_OK
        try unsafe bytes.withUnsafeBufferPointer { source in
            // zlib does not write through next_in.
            unsafe stream.next_in = unsafe UnsafeMutablePointer(mutating: source.baseAddress)
            unsafe stream.avail_in = uInt(source.count)
            while status != Z_STREAM_END {
                let start = output.count
                output.append(contentsOf: repeatElement(0, count: room - start))
                unsafe output.withUnsafeMutableBufferPointer { target in
                    unsafe stream.next_out = target.baseAddress.map { unsafe $0 + start }
                    unsafe stream.avail_out = uInt(target.count - start)
                    status = unsafe inflate(&stream, Z_NO_FLUSH)
                }
                let isFull = unsafe stream.avail_out == 0
                if status == Z_STREAM_END { break }
                // Z_BUF_ERROR says that there was no room, or no input.
                guard status == Z_OK || status == Z_BUF_ERROR, isFull else { throw damaged }
                guard room < limit else { throw ByteStage.inflatesTooFar(limit) }
                room = room > limit / 2 ? limit : room * 2
            }
        }
        guard unsafe stream.avail_in == 0 else { throw damaged }
        unsafe output.removeLast(Int(stream.avail_out))
        return output
    }

    private static var damaged: CacheError { CacheError(code: .codec, message: "the bytes are not a zlib stream") }
}
