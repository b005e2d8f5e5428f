// swift-tools-version: 6.2
import PackageDescription

// One array for every target: the rules of the house are the same in every room.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Where no C and no socket is touched, every unsafe construct has to be spelled out.
let strictSettings = settings + [.strictMemorySafety()]

let package = Package(
    name: "strata",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Strata", targets: ["Strata"]),
        .library(name: "StrataRedis", targets: ["StrataRedis"]),
        .library(name: "StrataTesting", targets: ["StrataTesting"]),
        .executable(name: "stratactl", targets: ["stratactl"]),
    ],
    traits: [
        .trait(name: "ServiceLifecycle", description: "RedisClient conforms to Service of swift-service-lifecycle."),
        .default(enabledTraits: ["ServiceLifecycle"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ],
    targets: [
        // No pkgConfig: hiredis.pc carries a flag that SwiftPM refuses with a warning on every build.
        .systemLibrary(
            name: "CHiredis",
            path: "CHiredis",
            providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]
        ),
        .target(
            name: "Strata",
            swiftSettings: strictSettings
        ),
        .target(
            name: "StrataRedis",
            dependencies: [
                "Strata",
                "CHiredis",
                .product(name: "Logging", package: "swift-log"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StrataTesting",
            dependencies: ["Strata", "StrataRedis"],
            swiftSettings: strictSettings
        ),
        .executableTarget(
            name: "stratactl",
            dependencies: [
                "StrataRedis",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strictSettings
        ),
        .testTarget(name: "StrataTests", dependencies: ["Strata", "StrataTesting"], swiftSettings: settings),
        .testTarget(
            name: "StrataRedisTests",
            dependencies: ["Strata", "StrataRedis", "StrataTesting"],
            exclude: ["Envelope/Golden"],
            swiftSettings: settings
        ),
        // The process that tests of the test kit run many times and kill.
        .executableTarget(
            name: "StrataTestingInstance",
            dependencies: ["StrataTesting"],
            path: "Tests/StrataTestingInstance",
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StrataTestingTests",
            dependencies: ["StrataTesting", "StrataTestingInstance"],
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StratactlTests",
            dependencies: ["stratactl", "StrataRedis", "StrataTesting"],
            swiftSettings: settings
        ),
    ]
)
