import Foundation
import Strata
import StrataRedis

extension SplitMix64 {
    /// A generator whose seed is printed, so that a failure can be repeated: `STRATA_SEED=… swift test --filter …`.
    static func announced(_ test: String = #function) -> SplitMix64 {
        let given = ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) }
        let seed = given ?? .random(in: 0 ... .max)
        print("\(test): STRATA_SEED=\(seed)")
        return SplitMix64(seed: seed)
    }

    /// Whether something happens that has a chance of one in `many`.
    mutating func once(in many: Int) -> Bool { Int.random(in: 0..<many, using: &self) == 0 }

    /// Arbitrary bytes.
    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
