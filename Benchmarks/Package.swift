// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "strata-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "strata", path: "..", traits: [.defaults, "Disk", "Observability"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "load",
            dependencies: [
                "CAllocations",
                "CHiredisPipeline",
                "FleetChecker",
                "FleetSimulation",
                .product(name: "Strata", package: "strata"),
                .product(name: "StrataCBOR", package: "strata"),
                .product(name: "StrataRedis", package: "strata"),
                .product(name: "StrataDisk", package: "strata"),
                .product(name: "StrataObservability", package: "strata"),
                .product(name: "StrataTesting", package: "strata"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: settings
        ),
        // Records what the instances of a fleet read and write, and finds the reads that were too old. It stands on nothing,
        // so that its tests build nothing else.
        .target(name: "FleetChecker", swiftSettings: settings + [.strictMemorySafety()]),
        .testTarget(
            name: "FleetCheckerTests",
            dependencies: ["FleetChecker"],
            swiftSettings: settings + [.strictMemorySafety()]
        ),
        // Fleets, servers and sources in simulated time. It stands on nothing, too.
        .target(name: "FleetSimulation", swiftSettings: settings + [.strictMemorySafety()]),
        .testTarget(
            name: "FleetSimulationTests",
            dependencies: ["FleetSimulation"],
            swiftSettings: settings + [.strictMemorySafety()]
        ),
        // Counts the allocations of each thread.
        .target(name: "CAllocations"),
        // Reads by hiredis and nothing else, to be compared with.
        .target(name: "CHiredisPipeline", linkerSettings: [.linkedLibrary("hiredis")]),
    ]
)
