#if Disk
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension [UInt8] {
    /// GRDB takes `Data` for blobs.
    var data: Data { Data(self) }
}
#endif
