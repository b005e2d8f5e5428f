/// Notes the failures of a batch that goes on without the failed keys.
package final class FailureNotes: Sendable {
    private struct Note: Sendable {
        let error: any Error
        let key: (any Hashable & Sendable)?
    }

    private let notes = Locked<[Note]>([])

    package init() {}

    /// What has failed, in no order.
    package var all: [any Error] { notes.withLock { $0.map(\.error) } }

    /// Notes a failure, with its key where that is known.
    package func add(_ error: any Error, of key: (any Hashable & Sendable)? = nil) {
        notes.withLock { $0.append(Note(error: error, key: key)) }
    }

    /// Adds the notes of a level that knows the keys under other names.
    ///
    /// - Parameters:
    ///   - notes: What it has noted.
    ///   - names: The keys that it was asked for.
    ///   - keys: The same keys, in the same order, by the names that they have here.
    func add<Name: Hashable>(_ notes: FailureNotes, of names: [Name], as keys: [some Hashable & Sendable]) {
        guard let errors = notes.errors(of: names) else {
            for error in notes.all { add(error) }
            return
        }
        for (key, error) in zip(keys, errors) { if let error { add(error, of: key) } }
    }

    /// The failure of each of these keys; `nil` when some have failed and it is not known which.
    func errors<Key: Hashable>(of keys: [Key]) -> [(any Error)?]? {
        let notes = notes.withLock { $0 }
        var errors: [Key: any Error] = [:]
        for note in notes {
            guard let key = note.key as? Key else { return nil }
            errors[key] = note.error
        }
        return keys.map { errors[$0] }
    }
}
