import Strata
import Testing

@testable import StrataRedis

@Suite("The outgoing buffer")
struct WireBufferTests {
    @Test("it grows from its smallest size, keeping every byte")
    func growsByBytes() {
        var buffer = WireBuffer(capacity: 0)
        #expect(buffer.count == 0)
        let expected = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for byte in expected { buffer.append(byte) }
        #expect(buffer.count == 10_000)
        #expect(Array(buffer.bytes) == expected)
    }

    @Test("one append far beyond its size fits, as does nothing at all")
    func growsAtOnce() {
        var buffer = WireBuffer(capacity: 64)
        let block = [UInt8](repeating: 0xa5, count: 3 << 20)
        buffer.append(7)
        block.withUnsafeBytes { buffer.append($0) }
        buffer.append(UnsafeRawBufferPointer(start: nil, count: 0))
        [UInt8]().withUnsafeBytes { buffer.append($0) }
        #expect(buffer.count == block.count + 1)
        #expect(Array(buffer.bytes) == [7] + block)
    }

    @Test("a number whose digits straddle the end of the memory is whole")
    func decimalAtTheEnd() {
        for room in 0...21 {
            var buffer = WireBuffer(capacity: 64)
            for _ in 0..<(64 - room) { buffer.append(0x20) }
            buffer.append(decimal: .min)
            #expect(String(decoding: buffer.bytes.suffix(20), as: UTF8.self) == "-9223372036854775808")
            #expect(buffer.count == 84 - room)
        }
    }

    @Test("it is as an array, for random appends and truncations")
    func likeAnArray() {
        var random = SplitMix64.announced()
        for _ in 0..<50 {
            var buffer = WireBuffer(capacity: .random(in: 0...200, using: &random))
            var model: [UInt8] = []
            for _ in 0..<200 {
                switch Int.random(in: 0...9, using: &random) {
                case 0:
                    let length = Int.random(in: -3...(model.count + 3), using: &random)
                    buffer.truncate(to: length)
                    model = Array(model.prefix(max(length, 0)))
                case 1:
                    let shift = Int64.random(in: 0...63, using: &random)
                    let value = Int64.random(in: .min ... .max, using: &random) >> shift
                    buffer.append(decimal: value)
                    model += Array(String(value).utf8)
                case 2 where random.once(in: 10):
                    buffer.removeAll()
                    model = []
                default:
                    let bytes = random.bytes(.random(in: 0...300, using: &random))
                    bytes.withUnsafeBytes { buffer.append($0) }
                    model += bytes
                }
                #expect(buffer.count == model.count)
            }
            #expect(Array(buffer.bytes) == model)
        }
    }

    @Test("it can be used again after a large content was given back")
    func reuse() {
        var buffer = WireBuffer()
        for _ in 0..<3 {
            let block = [UInt8](repeating: 1, count: 2 << 20)
            block.withUnsafeBytes { buffer.append($0) }
            buffer.removeAll()
            #expect(buffer.count == 0)
            buffer.append(decimal: 42)
            #expect(Array(buffer.bytes) == Array("42".utf8))
            buffer.removeAll()
        }
    }
}
