import Strata
import StrataTestSupport

@testable import StrataRedis

/// What a cache does at its end, and the next one at its beginning, with limits that no slow machine meets.
extension Composed where Upper == MemoryLevel<Lower.Key, Lower.Value>, Lower.Key: KeyRepresentable {
    func hibernate(to folder: ScratchFolder) async throws -> HibernationReport {
        try await hibernate(to: folder.file, limits: HibernationLimits(duration: .seconds(600)))
    }

    /// Repeats what ended because Redis was not ready within five seconds; nothing has been read then.
    func restore(from folder: ScratchFolder) async throws -> RestorationReport {
        while true {
            do {
                return try await restore(from: folder.file, within: .seconds(600))
            } catch let error as RedisError where error.code == .timeout {}
        }
    }
}

/// The same for an instance.
extension Instance {
    func hibernate(to folder: ScratchFolder) async throws -> HibernationReport { try await cache.hibernate(to: folder) }

    func restore(from folder: ScratchFolder) async throws -> RestorationReport { try await cache.restore(from: folder) }
}
