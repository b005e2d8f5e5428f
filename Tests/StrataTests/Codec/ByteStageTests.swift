import Strata
import Testing

/// Changes of encoded bytes: in which order they are applied, what is noted of them, what they are bound to.
@Suite("Stages behind a codec")
struct ByteStageTests {
    private struct Moved: Error {}

    /// Adds a byte at the end, and takes it off again if it is that byte.
    private static func marking(_ identifier: UInt8, _ mark: UInt8) -> ByteStage {
        ByteStage(identifier: identifier, name: "mark \(mark)") { bytes, _ in
            bytes + [mark]
        } undo: { bytes, _ in
            guard bytes.last == mark else { throw Moved() }
            return Array(bytes.dropLast())
        }
    }

    /// Puts the context in front, and asks for the same one.
    private static let bound = ByteStage(identifier: 9, name: "bound") { bytes, context in
        context + bytes
    } undo: { bytes, context in
        guard bytes.starts(with: context) else { throw Moved() }
        return Array(bytes.dropFirst(context.count))
    }

    @Test("compression comes before protection, in whichever order they are added")
    func order() throws {
        let one = Codec<[UInt8]>.bytes.compressed(by: Self.marking(1, 67)).protected(by: Self.marking(2, 80))
        let other = Codec<[UInt8]>.bytes.protected(by: Self.marking(2, 80)).compressed(by: Self.marking(1, 67))
        #expect(try one.encode([0]) == [0, 67, 80])
        #expect(try other.encode([0]) == [0, 67, 80])
        #expect(try one.decode([0, 67, 80]) == [0])
        let error = #expect(throws: CacheError.self) { try one.decode([0, 80, 67]) }
        #expect(error?.code == .codec)
        #expect(error?.causes.first is Moved)
    }

    @Test("what was written without compression can still be read, what was written without protection cannot")
    func introduced() throws {
        let plain = try Codec<[UInt8]>.bytes.seal([1, 2], at: [])
        let compressing = Codec<[UInt8]>.bytes.compressed(by: Self.marking(1, 67))
        #expect(try compressing.open(plain, at: []) == [1, 2])
        let protecting = Codec<[UInt8]>.bytes.protected(by: Self.marking(2, 80))
        do throws(UnreadableValue) {
            _ = try protecting.open(plain, at: [])
            Issue.record("unprotected bytes were taken")
        } catch {
            guard case .otherMaking = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test("a protection is bound to the place, and to the numbers beside the bytes")
    func bound() throws {
        let codec = Codec<[UInt8]>.bytes.schema(3).protected(by: Self.bound)
        let sealed = try codec.seal([7], at: [1, 2, 3])
        #expect(try codec.open(sealed, at: [1, 2, 3]) == [7])
        #expect(throws: UnreadableValue.self) { try codec.open(sealed, at: [1, 2, 4]) }
        var older = sealed
        older.schema = 2
        let migrating = codec.migrating { $0.bytes }
        #expect(throws: UnreadableValue.self) { try migrating.open(older, at: [1, 2, 3]) }
    }

    @Test("a stage is a transformer of levels that keep bytes, too")
    func transformer() async throws {
        let kept = MemoryLevel<String, [UInt8]>(limit: .entries(4))
        let level = kept.transformValues(Self.marking(1, 67).transformer)
        try await level.set([5], for: "k")
        #expect(try await kept.get("k") == [5, 67])
        #expect(try await level.get("k") == [5])
        try await kept.set([5], for: "k")
        await #expect(throws: Moved.self) { try await level.get("k") }
    }
}
