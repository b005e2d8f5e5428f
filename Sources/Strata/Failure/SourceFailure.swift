/// The failure of a source; apart from those of the cache until it leaves it, for a source may be a cache, too.
@usableFromInline
package struct SourceFailure: Error {
    package let cause: any Error
    /// What the source itself has said.
    package let retryAfter: Duration?

    package init(_ cause: any Error, retryAfter: Duration? = nil) {
        self.cause = cause
        self.retryAfter = retryAfter ?? (cause as? CacheError)?.retryAfter
    }

    /// What a caller is told of an error.
    @usableFromInline
    static func cause(of error: any Error) -> any Error { (error as? SourceFailure)?.cause ?? error }
}
