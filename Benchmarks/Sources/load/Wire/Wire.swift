import ArgumentParser
import Glibc
import Strata
import StrataRedis

struct Wire: AsyncParsableCommand {
    @Option var url: String
    @Option var tasks: [Int] = [1, 16, 64, 256, 1024]
    @Option var seconds: Double = 1
    @Option var rounds = 3

    func run() async throws {
        var configuration = try RedisConfiguration(url: url)
        configuration.commandTimeout = .seconds(30)
        let redis = try RedisClient(configuration)
        let value = [UInt8](repeating: 120, count: 100)
        try await redis.set("bench", value)
        let key = RedisKey("bench")
        for count in tasks {
            for _ in 0..<rounds {
                let start = ContinuousClock.now
                let end = start.advanced(by: .seconds(seconds))
                let cpu = cpuTime()
                let total = await withTaskGroup(of: Int.self) { group in
                    for _ in 0..<count {
                        group.addTask {
                            var done = 0
                            while true {
                                for _ in 0..<16 { _ = try? await redis.get(key) }
                                done += 16
                                if ContinuousClock.now >= end { return done }
                            }
                        }
                    }
                    return await group.reduce(0, +)
                }
                let time = ContinuousClock.now - start
                let s = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
                print(count, Int(Double(total) / s), "cpu us/op", (cpuTime() - cpu) * 1e6 / Double(total))
            }
        }
    }
}
func cpuTime() -> Double {
    var usage = rusage()
    getrusage(0, &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(
        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
    ) / 1e6
}
