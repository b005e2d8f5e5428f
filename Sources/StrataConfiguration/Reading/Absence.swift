#if Configuration
internal import Configuration

/// Tells a key that is not there from one whose value has another type.
///
/// A snapshot throws for both when a value is required, and says nothing of either when it is not. The error for a
/// missing value is not public, so it is known by an example.
enum Absence {
    private static let example: (any Error)? = {
        do {
            _ = try ConfigReader(provider: InMemoryProvider(values: [:])).requiredString(forKey: "absent")
            return nil
        } catch {
            return error
        }
    }()

    /// Whether an error says that no provider has a key.
    static func isMeant(by error: any Error) -> Bool {
        guard let example else { return false }
        return type(of: error) == type(of: example) && kind(of: error) == kind(of: example)
    }

    /// The case of an enumeration with a payload.
    private static func kind(of error: any Error) -> String? { Mirror(reflecting: error).children.first?.label }
}
#endif
