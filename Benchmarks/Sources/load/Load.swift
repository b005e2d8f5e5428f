import ArgumentParser

/// The load programs: each measures one promise of speed beside a program that any reader can run.
@main
struct Load: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Measures Strata; prints one JSON object a line.",
        discussion: """
            A result is {"name": …, "value": …, "unit": …, "comparedTo": …}. Servers are private ones. Run nothing else
            meanwhile; on a shared machine compare ratios of one run and not times of two.
            """,
        subcommands: [
            MemoryLoad.self, MemorySoakLoad.self, LocksLoad.self, RatioLoad.self, CodecLoad.self, DiskLoad.self,
            WireLoad.self, HerdLoad.self, PropagationLoad.self, SoakLoad.self, OutageLoad.self, ExpiryLoad.self,
            BatchLoad.self, HerdInstance.self, PropagationInstance.self, SoakInstance.self, OutageInstance.self,
            ChurnLoad.self, FailoverLoad.self, ClusterLoad.self, VerifyLoad.self, VerifyInstance.self,
            RestartLoad.self, RestartInstance.self, FanoutLoad.self, TagsLoad.self,
            ColdStartLoad.self, SimulateLoad.self,
        ]
    )
}
