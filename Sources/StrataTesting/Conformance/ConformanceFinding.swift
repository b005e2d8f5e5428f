/// A way in which a level does not behave as levels do.
public struct ConformanceFinding: Sendable, Hashable, CustomStringConvertible {
    /// What was being checked.
    public let check: String
    /// What was found.
    public let message: String

    /// The check and the finding in one line.
    public var description: String { "\(check): \(message)" }
}

/// What a level can do beyond keeping values; the checks of an ability run only if the level has it.
public struct LevelAbilities: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Abilities by their bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Keeps the lifetimes that entries come with: never longer, and shorter only by the resolution of a clock.
    public static let lifetimes = LevelAbilities(rawValue: 1)
    /// Keeps absences.
    public static let absences = LevelAbilities(rawValue: 2)
    /// Keeps tags.
    public static let tags = LevelAbilities(rawValue: 4)
    /// All abilities.
    public static let all: LevelAbilities = [.lifetimes, .absences, .tags]
}
