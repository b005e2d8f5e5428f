/// An error whose code says what kind of failure it is.
package protocol CodedError: Error {
    /// The name of the code.
    var codeName: String { get }
}

extension CacheError: CodedError {
    /// The name of ``code``.
    package var codeName: String { "\(code)" }
}

extension CacheError {
    /// The kind of an error, without its text, which may hold what a log must not show.
    package static func name(of error: any Error) -> String {
        (error as? any CodedError)?.codeName ?? "\(type(of: error))"
    }
}
