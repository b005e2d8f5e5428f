#if Disk
import Strata
import StrataDisk
import StrataTesting
import Testing

@Suite("Levels on disk conform", .timeLimit(.minutes(5)))
struct DiskConformanceTests {
    private let folder: DiskFolder

    init() throws {
        folder = try DiskFolder()
    }

    @Test("alone, below memory, a domain of a small store")
    func conforms() async throws {
        let store = folder.store()
        let alone = CacheLevelConformance { DiskLevel<String, String>(store, namespace: "alone", codec: .text) }
        expectNone(await alone.run())
        let below = CacheLevelConformance {
            MemoryLevel<String, String>(limit: .entries(1_000))
                .compose(DiskLevel(store, namespace: "below", codec: .json))
                .normalized()
        }
        expectNone(await below.run())
        let domain = CacheLevelConformance { store.domain("conformance") as DiskLevel<String, String> }
        expectNone(await domain.run())
    }
}

/// Says what was found, which a comparison with nothing does not.
private func expectNone(_ findings: [ConformanceFinding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings { Issue.record("\(finding)", sourceLocation: sourceLocation) }
}
#endif
