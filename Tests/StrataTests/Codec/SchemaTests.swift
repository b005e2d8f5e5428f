import Foundation
import Strata
import Testing

/// The numbers of stored forms, and what becomes of what other releases have stored.
@Suite("Schema numbers and migrations")
struct SchemaTests {
    struct Price: Codable, Equatable, Sendable, SchemaVersioned {
        static let schemaVersion: UInt32 = 2
        var cents: Int
    }

    struct PriceOfRelease1: Codable, Equatable, Sendable, SchemaVersioned {
        static let schemaVersion: UInt32 = 1
        var euros: Double
    }

    private struct Refusal: Error {}

    private static let migrating = Codec<Price>.json
        .migrating { older in
            guard older.schema == 1 else { return nil }
            let price = try Codec<PriceOfRelease1>.json.decode(older.bytes)
            return Price(cents: Int((price.euros * 100).rounded()))
        }

    private enum Failure: Equatable { case otherMaking, otherSchema, undecodable }

    private func failure<Value>(_ codec: Codec<Value>, _ encoded: EncodedValue, at place: [UInt8] = []) -> Failure? {
        do throws(UnreadableValue) {
            _ = try codec.open(encoded, at: place)
            return nil
        } catch {
            switch error {
            case .otherMaking: return .otherMaking
            case .otherSchema: return .otherSchema
            case .undecodable: return .undecodable
            }
        }
    }

    @Test("the number is the type's, also inside lists, dictionaries and optionals; else 0")
    func numbers() {
        #expect(Codec<Price>.json.schema == 2)
        #expect(Codec<[Price]>.cbor.schema == 2)
        #expect(Codec<[String: [Price]]>.propertyList.schema == 2)
        #expect(Codec<Price?>.json.schema == 2)
        #expect(Codec<Int>.json.schema == 0)
        #expect(Codec<Int>.json.schema(7).schema == 7)
    }

    @Test("two releases side by side: each reads its own, and the older cannot read the newer")
    func sideBySide() throws {
        let new = try Codec<Price>.json.seal(Price(cents: 150), at: [])
        let old = try Codec<PriceOfRelease1>.json.seal(PriceOfRelease1(euros: 1.5), at: [])
        #expect(try Codec<Price>.json.open(new, at: []) == Price(cents: 150))
        #expect(try Codec<PriceOfRelease1>.json.open(old, at: []) == PriceOfRelease1(euros: 1.5))
        #expect(failure(Codec<PriceOfRelease1>.json, new) == .otherSchema)
        #expect(failure(Codec<Price>.json, old) == .otherSchema)
    }

    @Test("a migration makes values of older numbers, and is never asked about newer ones")
    func migration() throws {
        let old = try Codec<PriceOfRelease1>.json.seal(PriceOfRelease1(euros: 1.5), at: [])
        #expect(try Self.migrating.open(old, at: []) == Price(cents: 150))
        var newer = old
        newer.schema = 3
        #expect(failure(Self.migrating, newer) == .otherSchema)
        var oldest = old
        oldest.schema = 0
        #expect(failure(Self.migrating, oldest) == .otherSchema)
    }

    @Test("a migration that throws, and bytes that the older type cannot be made of, are misses")
    func failedMigration() throws {
        let old = try Codec<PriceOfRelease1>.json.seal(PriceOfRelease1(euros: 1.5), at: [])
        #expect(failure(Codec<Price>.json.migrating { _ in throw Refusal() }, old) == .undecodable)
        var damaged = old
        damaged.bytes.removeLast()
        #expect(failure(Self.migrating, damaged) == .undecodable)
    }

    @Test("bytes of another codec, compression or protection are not given to the codec")
    func otherMaking() throws {
        let sealed = try Codec<Price>.json.seal(Price(cents: 1), at: [])
        for change in [
            { $0.codec = 4 }, { $0.compression = 1 }, { $0.protection = 1 },
        ] as [(inout EncodedValue) -> Void] {
            var other = sealed
            change(&other)
            #expect(failure(Codec<Price>.json, other) == .otherMaking)
        }
    }
}
