import StrataTesting
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite("Another process of a test", .timeLimit(.minutes(5)))
struct InstanceProcessTests {
    @Test("Lines go in and come out")
    func lines() async throws {
        let instance = try await InstanceProcess.start(try instancePath(), arguments: ["echo"])
        var iterator = instance.lines.makeAsyncIterator()
        for line in ["one", "", "zwölf"] {
            try await instance.send(line)
            #expect(await iterator.next() == "echo \(line)")
        }
        #expect(instance.exitStatus == nil)
        await instance.endInput()
        #expect(await iterator.next() == nil)
        #expect(try await instance.waitForExit() == .exited(0))
        #expect(instance.exitStatus == .exited(0))
        await expect(code: .notRunning) { try await instance.send("gone") }
        #expect(throws: HarnessError.self) { try instance.signal(SIGTERM) }
        #expect(try await instance.kill() == .exited(0))
    }

    @Test("A full buffer loses nothing")
    func bufferedLines() async throws {
        let instance = try await InstanceProcess.start(
            try instancePath(),
            arguments: ["count", "20000"],
            bufferedLines: 2
        )
        var expected = 0
        for await line in instance.lines {
            #expect(line == String(expected))
            expected += 1
        }
        #expect(expected == 20000)
    }

    @Test("A process whose lines are not read is held up in its writing")
    func bounded() async throws {
        let instance = try await InstanceProcess.start(
            try instancePath(),
            arguments: ["count", "1000000"],
            bufferedLines: 2
        )
        // It never sleeps but for room to write. One look could meet it in a moment of waiting; thirty cannot.
        var looksAsleep = 0
        while looksAsleep < 30, instance.exitStatus == nil {
            looksAsleep = try await state(of: instance.pid).contains("S") ? looksAsleep + 1 : 0
        }
        #expect(instance.exitStatus == nil)
        try await instance.kill()
    }

    @Test("A last line without an end, an endless line and odd bytes come through")
    func oddLines() async throws {
        let instance = try await InstanceProcess.start(
            "sh",
            arguments: ["-c", #"head -c 3000000 /dev/zero | tr '\0' x; printf '\n\377\nlast'"#]
        )
        let lines = await instance.lines.reduce(into: []) { $0.append($1) }
        #expect(lines.prefix { $0 != "\u{fffd}" }.joined() == String(repeating: "x", count: 3_000_000))
        #expect(lines.prefix { $0 != "\u{fffd}" }.allSatisfy { $0.utf8.count < 2 << 20 })
        #expect(lines.suffix(2) == ["\u{fffd}", "last"])
    }

    @Test("Arguments, environment and folder arrive as given")
    func surroundings() async throws {
        let instance = try await InstanceProcess.start(
            "sh",
            arguments: ["-c", #"printf '%s\n' "$1" "$ADDED" "${HOME-unset}" "$PWD""#, "sh", "a  b\"'$x"],
            environment: ["ADDED": "x y", "HOME": nil],
            folder: "/usr"
        )
        let lines = await instance.lines.reduce(into: []) { $0.append($1) }
        #expect(lines == ["a  b\"'$x", "x y", "unset", "/usr"])
    }

    @Test("Variables arrive that a shell could not name")
    func names() async throws {
        let instance = try await InstanceProcess.start(
            "env",
            environment: ["strata.cache-1": "a = b", "1st": "x", "PLAIN_2": "y"]
        )
        let lines = await instance.lines.reduce(into: []) { $0.append($1) }
        for line in ["strata.cache-1=a = b", "1st=x", "PLAIN_2=y"] { #expect(lines.count { $0 == line } == 1) }
    }

    @Test("The error output goes where it is sent")
    func standardError() async throws {
        let joined = try await InstanceProcess.start("sh", arguments: ["-c", "echo x >&2"], standardError: .joined)
        #expect(await joined.lines.reduce(into: []) { $0.append($1) } == ["x"])
        let discarded = try await InstanceProcess.start(
            "sh",
            arguments: ["-c", "echo x >&2"],
            standardError: .discarded
        )
        #expect(await discarded.lines.reduce(into: []) { $0.append($1) } == [])
    }

    @Test("No descriptor of this process is inherited")
    func descriptors() async throws {
        // Sockets of all kinds are open here, and one file without close-on-exec.
        let server = try await ScriptedServer.start(script: [])
        let proxy = try await FaultProxy.start(to: server.endpoint)
        let client = try await ByteClient.connect(to: proxy.endpoint)
        let careless = unsafe open("/dev/null", O_RDONLY)
        #expect(careless > 2)
        let instance = try await InstanceProcess.start(try instancePath(), arguments: ["descriptors"])
        #expect(await instance.lines.reduce(into: []) { $0.append($1) } == ["0 1 2"])
        close(careless)
        withExtendedLifetime(client) {}
        await proxy.stop()
        await server.stop()
    }

    @Test("No child process can inherit what the kit opens")
    func closeOnExec() async throws {
        let instance = try await InstanceProcess.start(try instancePath(), arguments: ["flags"])
        #expect(await instance.lines.reduce(into: []) { $0.append($1) } == [""])
        #expect(try await instance.waitForExit() == .exited(0))
    }

    @Test("Exit codes and signals are told apart")
    func exitStatus() async throws {
        let failing = try await InstanceProcess.start("sh", arguments: ["-c", "exit 7"])
        #expect(try await failing.waitForExit() == .exited(7))
        let killed = try await InstanceProcess.start("sleep", arguments: ["1000"])
        #expect(try await killed.kill() == .signalled(SIGKILL))
        let stopped = try await InstanceProcess.start("sleep", arguments: ["1000"])
        #expect(try await stopped.stop() == .signalled(SIGTERM))
        let signalled = try await InstanceProcess.start("sleep", arguments: ["1000"])
        try signalled.signal(SIGUSR1)
        #expect(try await signalled.waitForExit() == .signalled(SIGUSR1))
        let stubborn = try await InstanceProcess.start(
            "sh",
            arguments: ["-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]
        )
        for await line in stubborn.lines where line == "ready" { break }
        #expect(try await stubborn.stop(grace: .milliseconds(20)) == .signalled(SIGKILL))
    }

    @Test("A paused process does nothing until it is resumed, and can be killed")
    func pause() async throws {
        let instance = try await InstanceProcess.start(try instancePath(), arguments: ["echo"])
        try await instance.pause()
        try await instance.send("a")
        #expect(try await state(of: instance.pid).contains("T"))
        try instance.resume()
        for await line in instance.lines {
            #expect(line == "echo a")
            break
        }
        try await instance.pause()
        #expect(try await instance.kill() == .signalled(SIGKILL))
    }

    @Test("What a process forked ends with it")
    func group() async throws {
        let instance = try await InstanceProcess.start("sh", arguments: ["-c", "sleep 1000 & echo $!; wait"])
        var child: Int32 = 0
        for await line in instance.lines {
            child = try #require(Int32(line))
            break
        }
        #expect(try await isAlive(child))
        try await instance.kill()
        try await wait { try await !isAlive(child) }
    }

    @Test("What a process forked ends also when it ends by itself")
    func groupAfterExit() async throws {
        let instance = try await InstanceProcess.start("sh", arguments: ["-c", "sleep 1000 & echo $!"])
        let children = await instance.lines.reduce(into: []) { $0.append($1) }
        let child = try #require(children.first.flatMap { Int32($0) })
        #expect(try await instance.waitForExit() == .exited(0))
        try await wait { try await !isAlive(child) }
    }

    @Test("The last reference to a process ends it")
    func lastReference() async throws {
        var instance: InstanceProcess? = try await InstanceProcess.start("sleep", arguments: ["1000"])
        let pid = try #require(instance?.pid)
        instance = nil
        try await wait { try await !isAlive(pid) }
    }

    @Test("Cancelled waits end and leave the process alone")
    func cancellation() async throws {
        let instance = try await InstanceProcess.start("sleep", arguments: ["1000"])
        let exit = Task { try await instance.waitForExit() }
        let line = Task {
            var iterator = instance.lines.makeAsyncIterator()
            return await iterator.next()
        }
        exit.cancel()
        line.cancel()
        await #expect(throws: CancellationError.self) { try await exit.value }
        #expect(await line.value == nil)
        #expect(instance.exitStatus == nil)
        try await instance.kill()
    }

    @Test("A process that does not read holds up no caller for ever")
    func unreadInput() async throws {
        let instance = try await InstanceProcess.start("sleep", arguments: ["1000"])
        let line = String(repeating: "x", count: 1 << 20)
        await expect(code: .deadlineExceeded) { try await instance.send(line, within: .milliseconds(20)) }
        try await instance.kill()
    }

    @Test("What cannot be started is a typed error")
    func missing() async throws {
        await expect(code: .executableNotFound) { try await InstanceProcess.start("no-such-program") }
        await expect(code: .executableNotFound) { try await InstanceProcess.start("/etc/passwd") }
        await expect(code: .executableNotFound) { try await InstanceProcess.start("/tmp") }
        #expect(throws: HarnessError.self) { try InstanceProcess.builtProduct(named: "no-such-product") }
        let nowhere = try await InstanceProcess.start("true", folder: "/no/such/folder", standardError: .discarded)
        #expect(try await !nowhere.waitForExit().isSuccess)
    }
}
