#if Disk
import Strata
import StrataDisk
import StrataTestSupport

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The process that tests of the disk level start several times and kill.
///
/// It writes values that tell their key and number, or applies actions to a list, and says so after each.
@main
struct StrataDiskInstance {
    /// Another process may stand still while it writes.
    private static func store(_ path: String) -> DiskStore {
        DiskStore(path: path, options: DiskOptions(lockTimeout: .seconds(60)))
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 5, arguments[2] == "actions" {
            guard let writer = Int(arguments[3]), let count = Int(arguments[4]) else { exit(64) }
            let cache = MemoryLevel<String, [Int]>(limit: .entries(10))
                .compose(DiskLevel(store(arguments[1]), namespace: "lists"))
            return try await ActionWriter.work(writer, count: count, on: cache) { line in
                print(line)
                fflush(nil)
            }
        }
        guard arguments.count == 4, let count = Int(arguments[3]) else { exit(64) }
        let level = DiskLevel<String, String>(store(arguments[1]), namespace: "shared", codec: .text)
        for number in 1...count {
            let key = "\(arguments[2])-\(number % 20)"
            try await level.set("\(key) \(number) " + String(repeating: "x", count: number % 9_000), for: key)
            print(number)
            fflush(nil)
        }
    }
}
#else
@main
enum StrataDiskInstance {
    static func main() {}
}
#endif
