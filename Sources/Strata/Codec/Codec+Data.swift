#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Codec where Value == Data {
    /// Bytes as they are, in the type of Foundation; stored like ``bytes``, so that either reads what the other wrote.
    public static var data: Codec { Codec(identifier: 1, encode: { Array($0) }, decode: { Data($0) }) }
}
