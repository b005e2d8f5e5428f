/// A way in which a level does not behave as levels do.
public struct ConformanceFinding: Sendable, Hashable, CustomStringConvertible {
    /// What was being checked.
    public let check: String
    /// What was found.
    public let message: String

    /// Both in one line.
    public var description: String { "\(check): \(message)" }
}

/// What a level is able to do beyond keeping values; the checks that go with it are run only if it says so.
public struct LevelAbilities: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Abilities by their bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Keeps the lifetimes that entries come with: not longer, and shorter by no more than a clock is coarse.
    public static let lifetimes = LevelAbilities(rawValue: 1)
    /// Keeps absences.
    public static let absences = LevelAbilities(rawValue: 2)
    /// Keeps tags.
    public static let tags = LevelAbilities(rawValue: 4)
    /// All of them.
    public static let all: LevelAbilities = [.lifetimes, .absences, .tags]
}
