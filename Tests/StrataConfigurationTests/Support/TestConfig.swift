#if Configuration
import Configuration
import Foundation
import Strata
import StrataConfiguration
import StrataRedis

/// Readers of configurations that a test makes.
enum TestConfig {
    /// A reader of variables of the environment.
    static func environment(_ variables: [String: String], reporter: (any AccessReporter)? = nil) -> ConfigReader {
        ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables), accessReporter: reporter)
    }

    /// A reader of values with types.
    static func memory(_ values: [String: ConfigContent], reporter: (any AccessReporter)? = nil) -> ConfigReader {
        ConfigReader(provider: InMemoryProvider(values: keyed(values)), accessReporter: reporter)
    }

    static func keyed(_ values: [String: ConfigContent]) -> [AbsoluteConfigKey: ConfigValue] {
        Dictionary(
            uniqueKeysWithValues: values.map {
                (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue($0.value, isSecret: false))
            }
        )
    }

    /// A reader of a JSON file.
    static func json(_ text: String) async throws -> ConfigReader {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "config.json")
        try Data(text.utf8).write(to: file)
        return ConfigReader(provider: try await FileProvider<JSONSnapshot>(config: place(of: file)))
    }

    /// A folder of its own, which the test removes.
    static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "strata-config-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// What a file provider reads of its own configuration; it looks at the file once a second.
    static func place(of file: URL) -> ConfigReader {
        memory(["filePath": .string(file.path), "pollIntervalSeconds": 1])
    }

    /// The error that a body throws.
    static func error(of body: () throws -> Void) -> ConfigurationError? {
        do {
            try body()
            return nil
        } catch {
            return error as? ConfigurationError
        }
    }
}

/// Takes down what is read.
final class RecordingReporter: AccessReporter {
    private let recorded = Locked<[AccessEvent]>([])

    var events: [AccessEvent] { recorded.withLock { $0 } }

    func report(_ event: AccessEvent) { recorded.withLock { $0.append(event) } }
}
#endif
