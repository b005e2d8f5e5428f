#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data: Costed {
    /// The number of bytes.
    public var cost: Int { count }
}

extension URL: Costed {
    /// The number of characters of the absolute form.
    public var cost: Int { absoluteString.count }
}

extension Date: Costed {
    /// 1.
    public var cost: Int { 1 }
}

extension UUID: Costed {
    /// 1.
    public var cost: Int { 1 }
}
