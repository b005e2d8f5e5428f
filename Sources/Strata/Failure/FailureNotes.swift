/// Notes the failures of a batch that goes on without the failed keys.
package final class FailureNotes: Sendable {
    private let errors = Locked<[any Error]>([])

    package init() {}

    /// What has failed, in no order.
    package var all: [any Error] { errors.withLock { $0 } }

    package func add(_ error: any Error) { errors.withLock { $0.append(error) } }
}
