internal import Synchronization

/// A write of a source that is under way, for what its closure does.
final class WriteUnderWay<Key: Hashable & Sendable>: Sendable {
    private let turns: ObjectIdentifier
    private let key: Key
    private let isOver = Atomic(false)

    /// - Parameters:
    ///   - turns: Those of the level that writes.
    ///   - key: What is written.
    init(_ turns: ObjectIdentifier, _ key: Key) {
        self.turns = turns
        self.key = key
    }

    /// The source has answered.
    func end() { isOver.store(true, ordering: .releasing) }

    /// Runs the closure of a write.
    static func run(_ write: WriteUnderWay, _ body: () async throws -> Void) async throws {
        try await WritesUnderWay.$all.withValue(WritesUnderWay.all + [write], operation: body)
    }

    /// Whether the task was begun by the closure of a write of this key that has not ended.
    static func isInside(_ turns: ObjectIdentifier, _ key: Key) -> Bool {
        WritesUnderWay.all.contains { write in
            guard let write = write as? WriteUnderWay, write.turns == turns, write.key == key else { return false }
            return !write.isOver.load(ordering: .acquiring)
        }
    }
}

/// The writes whose closures have led to a task.
private enum WritesUnderWay {
    @TaskLocal static var all: [any Sendable] = []
}
