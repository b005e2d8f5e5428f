import StrataTesting
import Testing

@Suite("Nothing outlives the process that started it", .timeLimit(.minutes(5)))
struct GuardTests {
    enum Death: String, CaseIterable {
        case kill
        case crash
        case exit
        case terminate
    }

    @Test("Servers, processes and folders of a process are gone after its end", arguments: Death.allCases)
    func end(_ death: Death) async throws {
        let instance = try await InstanceProcess.start(
            try instancePath(),
            arguments: ["own-everything"],
            standardError: .discarded
        )
        var processes: [Int32] = []
        var folders: [String] = []
        for await line in instance.lines {
            let words = line.split(separator: " ")
            if words[0] == "process" { processes.append(try #require(Int32(words[1]))) }
            if words[0] == "folder" { folders.append(String(words[1])) }
            if words[0] == "ready" { break }
        }
        #expect(processes.count == 2)
        #expect(folders.count == 3)
        for process in processes {
            #expect(try await isAlive(process))
        }
        for folder in folders {
            #expect(exists(folder))
        }
        switch death {
        case .kill: #expect(try await instance.kill() == .signalled(9))
        case .terminate: #expect(try await instance.stop() == .signalled(15))
        case .exit:
            await instance.endInput()
            #expect(try await instance.waitForExit() == .exited(0))
        case .crash:
            try await instance.send("crash")
            #expect(try await !instance.waitForExit().isSuccess)
        }
        try await wait {
            for process in processes where try await isAlive(process) { return false }
            return !folders.contains(where: exists)
        }
    }
}
