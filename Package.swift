// swift-tools-version: 6.2
import PackageDescription

// One array for every target: all modules have the same rules.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Where no C and no socket is touched, every unsafe construct has to be spelled out.
let strictSettings = settings + [.strictMemorySafety()]

// Products that several targets use, each behind the trait that brings it.
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let lifecycle: Target.Dependency = .product(
    name: "ServiceLifecycle",
    package: "swift-service-lifecycle",
    condition: .when(traits: ["ServiceLifecycle"])
)
let lifecycleTestKit: Target.Dependency = .product(
    name: "ServiceLifecycleTestKit",
    package: "swift-service-lifecycle",
    condition: .when(traits: ["ServiceLifecycle"])
)
let nioCore: Target.Dependency = .product(
    name: "NIOCore",
    package: "swift-nio",
    condition: .when(traits: ["HTTP", "Hummingbird", "Dashboard"])
)
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTP"]))
let configuration: Target.Dependency = .product(
    name: "Configuration",
    package: "swift-configuration",
    condition: .when(traits: ["Configuration"])
)
let withHummingbird: TargetDependencyCondition? = .when(traits: ["Hummingbird", "Dashboard"])
// The server, and what its interface is made of.
let hummingbird: [Target.Dependency] = [
    .product(name: "Hummingbird", package: "hummingbird", condition: withHummingbird),
    .product(name: "HTTPTypes", package: "swift-http-types", condition: withHummingbird),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: withHummingbird),
    nioCore,
]
let hummingbirdTesting: Target.Dependency = .product(
    name: "HummingbirdTesting",
    package: "hummingbird",
    condition: withHummingbird
)
// What `stratactl dashboard` needs.
let dashboard: [Target.Dependency] =
    Context.environment["STRATA_WITHOUT_NIO"] != nil
    ? []
    : hummingbird + [
        logging, .product(name: "Mustache", package: "swift-mustache", condition: .when(traits: ["Dashboard"])),
    ]
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Disk"]))

let package = Package(
    name: "strata",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Strata", targets: ["Strata"]),
        .library(name: "StrataCBOR", targets: ["StrataCBOR"]),
        .library(name: "StrataRedis", targets: ["StrataRedis"]),
        .library(name: "StrataCompression", targets: ["StrataCompression"]),
        .library(name: "StrataConfiguration", targets: ["StrataConfiguration"]),
        .library(name: "StrataCrypto", targets: ["StrataCrypto"]),
        .library(name: "StrataDisk", targets: ["StrataDisk"]),
        .library(name: "StrataHTTP", targets: ["StrataHTTP"]),
        .library(name: "StrataHummingbird", targets: ["StrataHummingbird"]),
        .library(name: "StrataObservability", targets: ["StrataObservability"]),
        .library(name: "StrataTesting", targets: ["StrataTesting"]),
        .executable(name: "stratactl", targets: ["stratactl"]),
    ],
    traits: [
        .trait(name: "ServiceLifecycle", description: "Makes clients and caches services of swift-service-lifecycle."),
        // While a trait is off, SwiftPM does not even resolve a dependency that only its products use.
        .trait(name: "Disk", description: "Enables StrataDisk; brings GRDB."),
        .trait(name: "HTTP", description: "Enables the fetcher of StrataHTTP; brings AsyncHTTPClient and SwiftNIO."),
        .trait(name: "Hummingbird", description: "Enables StrataHummingbird; brings hummingbird and SwiftNIO."),
        .trait(
            name: "Configuration",
            description: "Enables StrataConfiguration; brings swift-configuration."
        ),
        .trait(
            name: "Dashboard",
            description: "Enables the command dashboard of stratactl; brings hummingbird and swift-mustache."
        ),
        .trait(name: "Crypto", description: "Enables StrataCrypto; brings swift-crypto."),
        .trait(
            name: "Observability",
            description: "Enables StrataObservability; brings swift-metrics and swift-distributed-tracing."
        ),
        .trait(name: "TLS", description: "Enables rediss://; needs the system's OpenSSL."),
        .default(enabledTraits: ["ServiceLifecycle", "TLS"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        // Without its support for configuration files.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(
            url: "https://github.com/apple/swift-configuration",
            from: "1.4.0",
            traits: [.defaults, "Reloading"]
        ),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        // No pkgConfig: hiredis.pc carries a flag that SwiftPM refuses with a warning on every build.
        .systemLibrary(
            name: "CHiredis",
            path: "CHiredis",
            providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]
        ),
        // A format that knows nothing about caches.
        .target(name: "StrataCBOR", swiftSettings: strictSettings),
        // No pkgConfig, as above; on macOS the Makefile names the folder of openssl@3, which Homebrew does not link.
        .systemLibrary(
            name: "COpenSSL",
            path: "COpenSSL",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        .target(
            name: "Strata",
            dependencies: ["StrataCBOR", logging],
            swiftSettings: strictSettings
        ),
        .target(
            name: "StrataRedis",
            dependencies: [
                "Strata",
                "CHiredis",
                .target(name: "COpenSSL", condition: .when(traits: ["TLS"])),
                logging,
                lifecycle,
            ],
            swiftSettings: settings
        ),
        .systemLibrary(
            name: "CZlib",
            path: "CZlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]
        ),
        .systemLibrary(
            name: "CZstd",
            path: "CZstd",
            providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]
        ),
        .target(
            name: "StrataCompression",
            dependencies: ["Strata", "CZlib", "CZstd"],
            swiftSettings: strictSettings
        ),
        .target(
            name: "StrataConfiguration",
            dependencies: ["Strata", "StrataRedis", configuration, logging, lifecycle],
            swiftSettings: strictSettings
        ),
        .target(
            name: "StrataCrypto",
            dependencies: [
                "Strata",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Crypto"])),
            ],
            swiftSettings: strictSettings
        ),
        .target(
            name: "StrataDisk",
            dependencies: [
                "Strata", grdb,
            ],
            swiftSettings: strictSettings
        ),
        // The one module with NIO.
        .target(
            name: "StrataHTTP",
            dependencies: [
                "Strata",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["HTTP"])),
                nioCore,
                nioHTTP1,
            ],
            swiftSettings: strictSettings
        ),
        .target(
            name: "StrataHummingbird",
            dependencies: ["Strata", "StrataHTTP", "StrataRedis"] + hummingbird,
            swiftSettings: strictSettings
        ),
        .target(
            name: "StrataObservability",
            dependencies: [
                "Strata",
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Observability"])),
                .product(
                    name: "Tracing",
                    package: "swift-distributed-tracing",
                    condition: .when(traits: ["Observability"])
                ),
                lifecycle,
            ],
            swiftSettings: strictSettings
        ),
        .target(
            name: "StrataTesting",
            dependencies: ["Strata"],
            swiftSettings: strictSettings
        ),
        .executableTarget(
            name: "stratactl",
            dependencies: [
                "Strata",
                "StrataRedis",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ] + dashboard,
            swiftSettings: strictSettings
        ),
        .testTarget(name: "StrataCBORTests", dependencies: ["StrataCBOR"], swiftSettings: strictSettings),
        // What several test targets share; it is in no product.
        .target(
            name: "StrataTestSupport",
            dependencies: ["Strata", "StrataTesting", logging],
            path: "Tests/StrataTestSupport",
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StrataTests",
            dependencies: ["Strata", "StrataTesting", "StrataTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StrataRedisTests",
            dependencies: [
                "Strata", "StrataDisk", "StrataRedis", "StrataTesting", "StrataTestingInstance", "StrataTestSupport",
                lifecycle,
                lifecycleTestKit,
            ],
            exclude: ["Envelope/Golden"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StrataCompressionTests",
            dependencies: ["StrataCompression", "StrataTesting"],
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StrataConfigurationTests",
            dependencies: [
                "StrataConfiguration", "StrataRedis", "StrataTesting", "StrataTestSupport", configuration, logging,
                lifecycle,
                lifecycleTestKit,
            ],
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StrataCryptoTests",
            dependencies: ["StrataCrypto", "StrataTesting"],
            swiftSettings: strictSettings
        ),
        // The process that the tests of the disk level run several times, and kill.
        .executableTarget(
            name: "StrataDiskInstance",
            dependencies: ["Strata", "StrataDisk", "StrataTestSupport"],
            path: "Tests/StrataDiskInstance",
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StrataDiskTests",
            dependencies: [
                "StrataDisk", "StrataDiskInstance", "StrataTesting", "StrataTestSupport",
                grdb,
            ],
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StrataHTTPTests",
            dependencies: [
                "StrataHTTP", "StrataDisk", "StrataTesting",
                nioCore,
                nioHTTP1,
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
            ],
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StrataHummingbirdTests",
            dependencies: [
                "StrataHummingbird", "StrataHTTP", "StrataRedis", "StrataTesting", "StrataTestSupport",
                hummingbirdTesting,
            ] + hummingbird,
            swiftSettings: strictSettings
        ),
        .testTarget(
            name: "StrataObservabilityTests",
            dependencies: [
                "StrataObservability", "StrataRedis", "StrataTesting",
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Observability"])),
                .product(
                    name: "InMemoryTracing",
                    package: "swift-distributed-tracing",
                    condition: .when(traits: ["Observability"])
                ),
                lifecycle,
                lifecycleTestKit,
            ],
            swiftSettings: strictSettings
        ),
        // The process that tests run many times, freeze and kill.
        .executableTarget(
            name: "StrataTestingInstance",
            dependencies: ["Strata", "StrataRedis", "StrataTesting", "StrataTestSupport"],
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
            dependencies: ["stratactl", "StrataRedis", "StrataTesting"]
                + (dashboard.isEmpty ? [] : dashboard + [hummingbirdTesting]),
            swiftSettings: settings
        ),
    ]
)

// Under a sanitizer the C libraries behind the HTTP and the crypto module take longer to build than all tests take to
// run, and they contain nothing that the sanitizer is meant to find.
if Context.environment["STRATA_WITHOUT_NIO"] != nil {
    let modules = [
        "StrataHTTP", "StrataHTTPTests", "StrataCrypto", "StrataCryptoTests", "StrataHummingbird",
        "StrataHummingbirdTests",
    ]
    package.targets.removeAll { modules.contains($0.name) }
    package.products.removeAll { modules.contains($0.name) }
    let urls = [
        "apple/swift-nio", "swift-server/async-http-client", "apple/swift-crypto", "hummingbird-project/hummingbird",
        "hummingbird-project/swift-mustache", "apple/swift-http-types",
    ]
    package.dependencies.removeAll { dependency in
        guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
        return urls.contains { location.hasSuffix($0) }
    }
    let traits = ["Crypto", "HTTP", "Hummingbird", "Dashboard"]
    package.traits = package.traits.filter { !traits.contains($0.name) }
}
