/// A value that knows its cost in a cache.
///
/// The sum of the costs is compared with a level's limit. Bytes say most about memory, but any unit works that all
/// values of a level share.
public protocol Costed: SendableMetatype {
    /// The cost of the value; less than 1 counts as 1.
    var cost: Int { get }
}

extension String: Costed {
    /// The number of characters.
    ///
    /// For bytes use ``MemoryLimit/cost(_:of:)`` with `{ $0.utf8.count }`, which is also faster.
    public var cost: Int { count }
}

extension Array: Costed where Element == UInt8 {
    /// The number of bytes.
    public var cost: Int { count }
}

extension Costed where Self: BinaryInteger {
    /// 1.
    public var cost: Int { 1 }
}

extension Costed where Self: BinaryFloatingPoint {
    /// 1.
    public var cost: Int { 1 }
}

extension Int: Costed {}
extension Int8: Costed {}
extension Int16: Costed {}
extension Int32: Costed {}
extension Int64: Costed {}
extension UInt: Costed {}
extension UInt8: Costed {}
extension UInt16: Costed {}
extension UInt32: Costed {}
extension UInt64: Costed {}
extension Double: Costed {}
extension Float: Costed {}

extension Bool: Costed {
    /// 1.
    public var cost: Int { 1 }
}
