import StrataTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The helper that was built with these tests.
func instancePath() throws -> String {
    try InstanceProcess.builtProduct(named: "StrataTestingInstance")
}

func exists(_ path: String) -> Bool {
    unsafe access(path, F_OK) == 0
}

/// Whether a process is there and no zombie: who collects the orphans of a killed process is not the kit's affair.
func isAlive(_ pid: Int32) async throws -> Bool {
    guard kill(pid, 0) == 0 else { return false }
    let state = try await state(of: pid)
    return !state.isEmpty && !state.contains("Z")
}

/// The state of a process as `ps` writes it; empty when there is none.
func state(of pid: Int32) async throws -> String {
    let ps = try await InstanceProcess.start("ps", arguments: ["-o", "stat=", "-p", String(pid)])
    return await ps.lines.reduce("", +)
}

/// Asks again and again until it is so; the time limit of the test ends the wait.
func wait(until condition: () async throws -> Bool) async throws {
    while !(try await condition()) {
        try Task.checkCancellation()
        await Task.yield()
    }
}
