import Strata
import StrataCompression
import StrataTesting
import Testing

@Suite("Compression")
struct CompressionTests {
    private static let text = Array(String(repeating: "a kettle, a pencil and a lamp; ", count: 300).utf8)
    private static let stages: [ByteStage] = [.zlib(), .zstd()]

    private func code(_ body: () async throws -> Void) async -> CacheError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CacheError)?.code
        }
    }

    @Test("the numbers by which envelopes name compressions never change")
    func identifiers() {
        #expect(Self.stages.map(\.identifier) == [1, 2])
        #expect(Self.stages.map(\.description) == ["zlib", "zstd"])  // as in docs/internals/wire-format.md
    }

    @Test("A133 bytes come back, of any size and content", arguments: stages)
    func roundTrip(stage: ByteStage) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for size in [0, 1, 11, 127, 128, 129, 4_095, 4_096, 4_097, 100_000] {
            let noise = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            for bytes in [noise, Array(repeating: 7, count: size)] {
                let compressed = try await stage.transformer.inverseTransform(bytes)
                #expect(try await stage.transformer.transform(compressed) == bytes, "\(size) bytes, seed \(seed)")
                #expect(compressed.count <= bytes.count + bytes.count / 100 + 32)
            }
        }
        let compressed = try await stage.transformer.inverseTransform(Self.text)
        #expect(compressed.count < Self.text.count / 10)
    }

    @Test("a bomb that inflates a thousandfold is given up at the limit", arguments: [0, 1])
    func bomb(index: Int) async throws {
        let bomb = try await Self.stages[index].transformer.inverseTransform(Array(repeating: 0, count: 4 << 20))
        #expect(bomb.count * 900 < 4 << 20)
        let careful: ByteStage = index == 0 ? .zlib(limit: 1 << 20) : .zstd(limit: 1 << 20)
        #expect(await code { _ = try await careful.transformer.transform(bomb) } == .tooLarge)
        #expect(
            await code { _ = try await careful.transformer.inverseTransform(Array(repeating: 0, count: 1 << 20 + 1)) }
                == .tooLarge
        )
        let exact = Array(repeating: UInt8(0), count: 1 << 20)
        #expect(try await careful.transformer.transform(careful.transformer.inverseTransform(exact)) == exact)
    }

    @Test("limits that there are not are the nearest that there are", arguments: [0, 1])
    func limits(index: Int) async throws {
        let compressed = try await Self.stages[index].transformer.inverseTransform(Self.text)
        let none: ByteStage = index == 0 ? .zlib(limit: -1) : .zstd(limit: -1)
        #expect(await code { _ = try await none.transformer.inverseTransform([1]) } == .tooLarge)
        #expect(await code { _ = try await none.transformer.transform(compressed) } != nil)
        let all: ByteStage = index == 0 ? .zlib(limit: .max) : .zstd(limit: .max)
        #expect(try await all.transformer.transform(all.transformer.inverseTransform(Self.text)) == Self.text)
    }

    @Test("every truncation, every byte too many and other bytes are typed errors", arguments: stages)
    func damaged(stage: ByteStage) async throws {
        let whole = try await stage.transformer.inverseTransform(Self.text)
        for count in whole.indices {
            #expect(await code { _ = try await stage.transformer.transform(Array(whole.prefix(count))) } == .codec)
        }
        #expect(await code { _ = try await stage.transformer.transform(whole + [0]) } == .codec)
        for bytes in [[], [0], Array("hello, world".utf8), Array(repeating: 0xff, count: 100)] as [[UInt8]] {
            #expect(await code { _ = try await stage.transformer.transform(bytes) } == .codec)
        }
    }

    @Test("flipped bits are an error or other bytes, and never a trap", arguments: stages)
    func flipped(stage: ByteStage) async throws {
        let whole = try await stage.transformer.inverseTransform(Self.text)
        for index in whole.indices {
            for bit in 0..<8 {
                var bytes = whole
                bytes[index] ^= 1 << bit
                _ = try? await stage.transformer.transform(bytes)
            }
        }
    }

    @Test("a frame that claims more than it can hold is refused before anything is allocated")
    func falseClaim() async {
        // Magic, descriptor with a size of 8 bytes and one segment, 32 MiB declared, one raw block of nothing.
        let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0]
        #expect(await code { _ = try await ByteStage.zstd().transformer.transform(frame) } == .codec)
    }

    @Test("a codec with compression reads what was written before it had one")
    func codec() throws {
        let plain = try Codec<String>.text.seal("plain", at: [])
        let compressing = Codec<String>.text.compressed()
        #expect(try compressing.open(plain, at: []) == "plain")
        let sealed = try compressing.seal("squeezed", at: [])
        #expect(sealed.compression == 2)
        #expect(try compressing.open(sealed, at: []) == "squeezed")
        #expect(try compressing.decode(compressing.encode("squeezed")) == "squeezed")
    }
}
