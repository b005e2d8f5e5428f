#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The corners where the C libraries of Linux and macOS differ, and errors made from `errno`.
enum SystemCall {
    #if canImport(Glibc)
    static let streamType = Int32(SOCK_STREAM.rawValue)
    static let tcpProtocol = Int32(IPPROTO_TCP)
    #else
    static let streamType = SOCK_STREAM
    static let tcpProtocol = IPPROTO_TCP
    #endif

    #if canImport(Darwin)
    // Darwin knows no such flag; `SO_NOSIGPIPE` is set on each socket instead.
    static let sendFlags: Int32 = 0
    #else
    static let sendFlags = Int32(MSG_NOSIGNAL)
    #endif

    /// The text of an `errno` value.
    static func text(of number: Int32) -> String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: text)
    }

    /// The error for a call that just failed; reads `errno`, so call it first.
    static func failure(_ code: HarnessError.Code, _ what: String) -> HarnessError {
        let number = errno
        return HarnessError(number == EADDRINUSE ? .addressInUse : code, "\(what): \(text(of: number))")
    }

    /// A value of the process's environment; `nil` when absent or empty.
    static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// A function that the C library has, but its Swift module hides (the headers guard it with `_GNU_SOURCE`).
    static func hidden<Function>(_ name: String, as type: Function.Type) -> Function? {
        guard let symbol = unsafe dlsym(nil, name) else { return nil }
        return unsafe unsafeBitCast(symbol, to: type)
    }
}
