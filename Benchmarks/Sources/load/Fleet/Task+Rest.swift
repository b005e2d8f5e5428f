extension Task where Success == Never, Failure == Never {
    /// `Task.sleep(for:)` without the shim that may corrupt the memory of a cancelled task in release builds
    /// (swiftlang/swift#86204).
    static func rest(for duration: Duration) async throws {
        try await ContinuousClock().sleep(until: .now.advanced(by: duration), tolerance: nil)
    }
}
