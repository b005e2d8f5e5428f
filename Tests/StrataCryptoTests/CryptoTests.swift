#if Crypto
import Strata
import StrataCrypto
import Testing

@Suite("Encryption and signatures")
struct CryptoTests {
    enum Kind: CaseIterable, Sendable {
        case aesGCM, chaChaPoly, signature

        func stage(_ keys: KeyRing) -> ByteStage {
            switch self {
            case .aesGCM: .encryption(with: keys)
            case .chaChaPoly: .encryption(with: keys, cipher: .chaChaPoly)
            case .signature: .signature(with: keys)
            }
        }
    }

    private static let first = Array(repeating: UInt8(1), count: 32)
    private static let second = Array(repeating: UInt8(2), count: 32)
    private let keys: KeyRing

    init() throws {
        keys = try KeyRing(using: 1, [1: Self.first])
    }

    private func code(_ codec: Codec<String>, _ encoded: EncodedValue, at place: [UInt8]) -> CacheError.Code? {
        do throws(UnreadableValue) {
            _ = try codec.open(encoded, at: place)
            return nil
        } catch {
            guard case .undecodable(let cause) = error else { return nil }
            return (cause as? CacheError)?.code
        }
    }

    @Test("the numbers by which envelopes name protections never change")
    func identifiers() {
        #expect(Kind.allCases.map { $0.stage(keys).identifier } == [1, 2, 3])
        // As in docs/internals/wire-format.md.
        #expect(Kind.allCases.map { $0.stage(keys).description } == ["AES-GCM", "ChaChaPoly", "HMAC-SHA-256"])
    }

    @Test("A133 values come back", arguments: Kind.allCases, ["", "v", "grüße"])
    func roundTrip(kind: Kind, value: String) throws {
        let codec = Codec<String>.text.protected(by: kind.stage(keys))
        let sealed = try codec.seal(value, at: [1, 2])
        #expect(try codec.open(sealed, at: [1, 2]) == value)
        #expect(try codec.decode(codec.encode(value)) == value)
    }

    @Test("an encrypted value cannot be seen, and no two encryptions are alike", arguments: [Kind.aesGCM, .chaChaPoly])
    func hidden(kind: Kind) throws {
        let codec = Codec<[UInt8]>.bytes.protected(by: kind.stage(keys))
        let value = Array(repeating: UInt8(7), count: 64)
        let one = try codec.encode(value)
        let two = try codec.encode(value)
        #expect(one.count == 4 + 12 + 64 + 16)
        #expect(one[4...] != two[4...])
        #expect(!one.indices.contains { one[$0...].starts(with: [7, 7, 7, 7]) })
    }

    @Test("a value that is moved to another key is refused", arguments: Kind.allCases)
    func moved(kind: Kind) throws {
        let codec = Codec<String>.text.protected(by: kind.stage(keys))
        let sealed = try codec.seal("v", at: Array("a:1".utf8))
        #expect(code(codec, sealed, at: Array("a:2".utf8)) == .forged)
        #expect(code(codec, sealed, at: []) == .forged)
        #expect(code(codec, sealed, at: Array("a:1".utf8) + [0]) == .forged)
    }

    @Test(
        "above a level of bytes a protection is bound to the key by a transformer that knows it",
        arguments: Kind.allCases
    )
    func movedAbove(kind: Kind) async throws {
        let bytes = MemoryLevel<String, [UInt8]>(limit: .entries(10))
        let codec = Codec<String>.text.protected(by: kind.stage(keys))
        let level = bytes.transformValues(KeyAwareTwoWayTransformer(codec))
        try await level.set("mine", for: "a")
        #expect(try await level.get("a") == "mine")
        try await bytes.set(#require(await bytes.get("a")), for: "b")
        let error = await #expect(throws: CacheError.self) { try await level.get("b") }
        #expect(error?.code == .codec)
    }

    @Test("an absence is protected as a value is, and is none", arguments: Kind.allCases)
    func absence(kind: Kind) throws {
        func isRead(_ codec: Codec<[UInt8]>, _ encoded: EncodedValue, _ place: [UInt8]) -> Bool {
            (try? codec.openAbsence(encoded, at: place)) != nil
        }
        let codec = Codec<[UInt8]>.bytes.protected(by: kind.stage(keys))
        let sealed = try codec.sealAbsence(at: [1])
        #expect(isRead(codec, sealed, [1]) && !isRead(codec, sealed, [2]))
        #expect((try? codec.open(sealed, at: [1])) == nil)
        #expect(!isRead(codec, try codec.seal([], at: [1]), [1]))
        #expect(!isRead(codec, try Codec<[UInt8]>.bytes.sealAbsence(at: [1]), [1]))
        #expect(!isRead(.bytes, sealed, [1]))
    }

    @Test("a value whose schema number was changed is refused, also by a migration", arguments: Kind.allCases)
    func relabelled(kind: Kind) throws {
        let codec = Codec<String>.text.schema(2).protected(by: kind.stage(keys)).migrating { _ in "migrated" }
        var sealed = try codec.seal("v", at: [])
        sealed.schema = 1
        #expect(code(codec, sealed, at: []) == .forged)
    }

    @Test("every flipped bit and every truncation is refused", arguments: Kind.allCases)
    func tampered(kind: Kind) throws {
        let codec = Codec<String>.text.protected(by: kind.stage(keys))
        let sealed = try codec.seal("value", at: [1])
        for index in sealed.bytes.indices {
            for bit in 0..<8 {
                var other = sealed
                other.bytes[index] ^= 1 << bit
                // In the number it is another secret's, which is not there.
                #expect(code(codec, other, at: [1]) == (index < 4 ? .secret : .forged))
            }
            var short = sealed
            short.bytes = Array(sealed.bytes.prefix(index))
            #expect(code(codec, short, at: [1]) == .forged)
        }
    }

    @Test("rotation: older secrets open what they have sealed, new values bear the new one", arguments: Kind.allCases)
    func rotation(kind: Kind) throws {
        let old = Codec<String>.text.protected(by: kind.stage(keys))
        let both = Codec<String>.text.protected(by: kind.stage(try KeyRing(using: 2, [1: Self.first, 2: Self.second])))
        let new = Codec<String>.text.protected(by: kind.stage(try KeyRing(using: 2, [2: Self.second])))
        let older = try old.seal("old", at: [])
        #expect(try both.open(older, at: []) == "old")
        #expect(code(new, older, at: []) == .secret)
        let newer = try both.seal("new", at: [])
        #expect(try new.open(newer, at: []) == "new")
        #expect(code(old, newer, at: []) == .secret)
    }

    @Test("one kind's bytes are not another's, with the same secret", arguments: Kind.allCases, Kind.allCases)
    func kinds(one: Kind, other: Kind) throws {
        guard one != other else { return }
        let sealed = try Codec<String>.text.protected(by: one.stage(keys)).encode("v")
        let error = #expect(throws: CacheError.self) {
            try Codec<String>.text.protected(by: other.stage(keys)).decode(sealed)
        }
        #expect((error?.causes.first as? CacheError)?.code == .forged)
    }

    @Test("secrets of another length, a missing one, and none in the description")
    func rings() throws {
        let short = #expect(throws: CacheError.self) { try KeyRing(using: 1, [1: [1, 2, 3]]) }
        #expect(short?.code == .secret)
        let missing = #expect(throws: CacheError.self) { try KeyRing(using: 2, [1: Self.first]) }
        #expect(missing?.code == .secret)
        #expect(keys.description == "1 secrets, using 1")
    }
}
#endif
