// The samples of docs/monitor.md; `.ci/snippets` compares the two.

import Logging
import Strata
import StrataRedis

func measure(redis: RedisClient, logger: Logger) async {
    // snippet.monitor-run
    let monitor = ConsistencyMonitor(redis, keyspace: "products", rate: 20, logger: logger)
    let findings = monitor.inconsistencies()
    await withTaskGroup { group in
        group.addTask {
            for await finding in findings { print(finding.instance, finding.key, finding.age, finding.cause) }
        }
        await monitor.run()  // or give it to a ServiceGroup
    }
    for (delay, counts) in zip(monitor.report.delays, monitor.report.total) {
        print(delay, counts.checks, counts.inconsistent, counts.nines ?? 0)
    }
    // snippet.end
}
