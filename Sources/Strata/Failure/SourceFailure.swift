/// The failure of a source, kept apart from failures of the cache until it reaches the caller: a source may be a cache,
/// too.
@usableFromInline
package struct SourceFailure: Error {
    package let cause: any Error
    /// The delay that the source itself gave.
    package let retryAfter: Duration?

    package init(_ cause: any Error, retryAfter: Duration? = nil) {
        self.cause = cause
        self.retryAfter = retryAfter ?? (cause as? CacheError)?.retryAfter
    }

    /// The error that a caller gets.
    @usableFromInline
    static func cause(of error: any Error) -> any Error { (error as? SourceFailure)?.cause ?? error }
}
