internal import Synchronization

/// A write of a source that is under way, as the tasks of its closure see it.
final class WriteUnderWay<Key: Hashable & Sendable>: AnyWriteUnderWay {
    private let turns: ObjectIdentifier
    private let key: Key
    private let hasEnded = Atomic(false)

    /// - Parameters:
    ///   - turns: Those of the level that writes.
    ///   - key: What is written.
    init(_ turns: ObjectIdentifier, _ key: Key) {
        self.turns = turns
        self.key = key
    }

    /// The source has answered.
    func end() { hasEnded.store(true, ordering: .releasing) }

    /// Whether the source has answered.
    var isOver: Bool { hasEnded.load(ordering: .acquiring) }

    /// Runs the closure of a write.
    static func run(_ write: WriteUnderWay, _ body: () async throws -> Void) async throws {
        let others = WritesUnderWay.all.filter { !$0.isOver }
        try await WritesUnderWay.$all.withValue(others + [write], operation: body)
    }

    /// Whether the task was begun by the closure of a write of this key, and that write has not ended.
    static func isInside(_ turns: ObjectIdentifier, _ key: Key) -> Bool {
        WritesUnderWay.all.contains { write in
            guard let write = write as? WriteUnderWay, write.turns == turns, write.key == key else { return false }
            return !write.isOver
        }
    }
}

/// A write whatever its key.
private protocol AnyWriteUnderWay: Sendable {
    var isOver: Bool { get }
}

/// The writes whose closures have led to a task.
private enum WritesUnderWay {
    @TaskLocal static var all: [any AnyWriteUnderWay] = []
}
