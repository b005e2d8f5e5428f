#if Disk
import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("Whose the file is", .timeLimit(.minutes(5)))
struct DiskOwnerTests {
    private let folder: DiskFolder

    init() throws {
        folder = try DiskFolder()
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test("the file, what lies beside it, and folders that are made are this user's alone, also after damage")
    func modes() async throws {
        let path = folder.path + "/new/deep/cache.sqlite"
        for round in 0..<2 {
            if round == 1 { try Data(repeating: 0, count: 40_960).write(to: URL(fileURLWithPath: path)) }
            let store = DiskStore(path: path)
            let level = DiskLevel<String, String>(store, namespace: "test", codec: .text)
            try await level.set("v", for: "k")
            for ending in ["", "-wal", "-shm", ".lock"] { #expect(try mode(path + ending) == 0o600, "\(ending)") }
            await store.close()
        }
        for made in ["/new", "/new/deep"] { #expect(try mode(folder.path + made) == 0o700) }
    }

    @Test("so it is where the name is a link, and what it leads to is not there yet")
    func link() async throws {
        let (target, link) = (folder.path + "/real.sqlite", folder.path + "/link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let store = DiskStore(path: link)
        try await DiskLevel<String, String>(store, namespace: "test", codec: .text).set("v", for: "k")
        for ending in ["", "-wal", "-shm"] { #expect(try mode(target + ending) == 0o600, "\(ending)") }
        await store.close()
    }

    @Test("a file that every user may write to, or that another user has made, is rejected")
    func others() async throws {
        let level = DiskLevel<String, String>(folder.store(), namespace: "test", codec: .text)
        try await level.set("v", for: "k")
        await level.store.close()
        func failure() async -> DiskError.Code? {
            let level = DiskLevel<String, String>(folder.store(), namespace: "test", codec: .text)
            let code = await diskCode { _ = try await level.get("k") }
            // By itself a store closes its file a moment after it has gone, and takes the journal with it.
            await level.store.close()
            return code
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: folder.file)
        #expect(await failure() == .cannotOpen)
        // As releases before have made it.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file)
        #expect(await failure() == nil)
        #expect(try mode(folder.file) == 0o600)
        // Only the system's user may give files away.
        guard geteuid() == 0 else { return }
        for ending in ["-wal", "-journal", ""] {
            let file = folder.file + ending
            if !ending.isEmpty { try Data().write(to: URL(fileURLWithPath: file)) }
            try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: file)
            #expect(await failure() == .cannotOpen, "\(ending)")
            if !ending.isEmpty { try FileManager.default.removeItem(atPath: file) }
        }
    }
}
#endif
