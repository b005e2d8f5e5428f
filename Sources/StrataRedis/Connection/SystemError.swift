#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The system's words for an error number.
struct SystemError: CustomStringConvertible {
    let number: Int32

    static var current: SystemError { SystemError(number: errno) }

    var description: String {
        var text = [CChar](repeating: 0, count: 128)
        _ = strerror_r(number, &text, text.count)
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return bytes.isEmpty ? "error \(number)" : String(decoding: bytes, as: UTF8.self)
    }
}
