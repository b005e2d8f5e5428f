// swift-tools-version: 6.2
import PackageDescription

// Built by `.ci/fuzz`, which gives every module to libFuzzer (-sanitize=fuzzer) and opens them for tests (-enable-testing);
// without these flags it does not link.
let package = Package(
    name: "strata-fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "strata", path: "..")
    ],
    targets: [
        .systemLibrary(name: "CFuzzer", path: "CFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer",
                .product(name: "Strata", package: "strata"),
                .product(name: "StrataRedis", package: "strata"),
                .product(name: "StrataTesting", package: "strata"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]
        ),
    ]
)
