internal import Strata

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The hottest keys in an instance's memory, without values, as CBOR in an answer.
package struct HottestKeys: Sendable, Hashable {
    private struct Document: Codable, Sendable {
        var form = HottestKeys.form
        /// Each is a byte string.
        var keys: [Data]
    }

    package static let form = 1
    /// Most bytes of an answer.
    package static let longest = 256 << 10
    /// Most keys of an answer.
    package static let mostKeys = 10_000
    /// Longer keys are not named.
    package static let longestKey = 512

    /// The keys, the hottest first.
    package let keys: [[UInt8]]

    private static let codec = Codec<Document>.cbor

    /// Reads bytes that any user of the server may have written; `nil` when they are no answer.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - most: How many keys were asked for; of more, the first count.
    package init?(_ bytes: [UInt8], most: Int) {
        guard bytes.count <= Self.longest, let document = try? Self.codec.decode(bytes), document.form == Self.form
        else { return nil }
        let named = document.keys.prefix(min(max(most, 0), Self.mostKeys))
        keys = named.filter { $0.count <= Self.longestKey }.map { Array($0) }
    }

    /// An answer: as many keys as fit into it.
    init(_ keys: [[UInt8]]) {
        var room = Self.longest - 64
        var fitting: [[UInt8]] = []
        for key in keys.prefix(Self.mostKeys) where key.count <= Self.longestKey {
            // Its head has three bytes at most.
            room -= key.count + 3
            guard room >= 0 else { break }
            fitting.append(key)
        }
        self.keys = fitting
    }

    var bytes: [UInt8] { (try? Self.codec.encode(Document(keys: keys.map { Data($0) }))) ?? [] }
}
