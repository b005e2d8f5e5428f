/// When it makes sense to ask a source again.
///
/// It travels beside the error, which is the source's own.
package final class RetryHint: Sendable {
    private let told = Locked<Duration?>(nil)

    package init() {}

    /// The delay; `nil` when it is not known.
    package var delay: Duration? { told.withLock { $0 } }

    package func tell(_ delay: Duration?) {
        guard let delay else { return }
        told.withLock { $0 = delay }
    }
}
