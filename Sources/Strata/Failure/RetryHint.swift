/// When it makes sense to ask a source again, told past the error: that is the source's own, and says nothing of it.
package final class RetryHint: Sendable {
    private let told = Locked<Duration?>(nil)

    package init() {}

    /// After how long; `nil` when nobody has said.
    package var delay: Duration? { told.withLock { $0 } }

    package func tell(_ delay: Duration?) {
        guard let delay else { return }
        told.withLock { $0 = delay }
    }
}
