import Testing

@testable import StrataRedis

/// Headers of one release with the library of another read garbage without a crash; these sizes catch the header half.
@Suite("The hiredis of this build")
struct HiredisVersionTests {
    @Test("its version is one that the shim knows")
    func version() {
        let version = HiredisVersion.current
        print("hiredis \(version)")
        #expect(version.major == 0 || version.major == 1)
        #expect(version.major == 1 || version.minor >= 14)
        #expect(version.description == "\(version.major).\(version.minor).\(version.patch)")
    }

    /// The reader grew by a field for the nesting limit after 1.4.1.
    @Test("its structures have the sizes of the known releases", .enabled(if: MemoryLayout<Int>.size == 8))
    func sizes() {
        let sizes = HiredisVersion.structureSizes
        print("hiredis: reader \(sizes.reader), task \(sizes.task), functions \(sizes.functions) bytes")
        switch HiredisVersion.current.major {
        case 0:
            #expect(sizes.reader == 560)
            #expect(sizes.task == 40)
            #expect(sizes.functions == 5 * MemoryLayout<Int>.size)
        default:
            #expect(sizes.reader == 216 || sizes.reader == 224)
            #expect(sizes.task == 48)
            #expect(sizes.functions == 7 * MemoryLayout<Int>.size)
        }
    }
}
