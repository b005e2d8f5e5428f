/// An error whose code says what kind of failure it is.
package protocol CodedError: Error {
    /// The name of the code.
    var codeName: String { get }
}

extension CacheError: CodedError {
    /// The name of ``code``.
    package var codeName: String { "\(code)" }
}
