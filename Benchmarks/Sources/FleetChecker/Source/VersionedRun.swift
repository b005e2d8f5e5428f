/// What all processes of one test run agree on: how many keys there are and how genuine values are told from others.
///
/// Keys are the numbers `0 ..< keyCount`; map them to other key types with a key transformation. The seed enters every
/// value's salt, so that a value of an earlier run, left in a server, is recognised as not written in this one.
public struct VersionedRun: Sendable, Hashable, Codable {
    /// The largest number of keys a run may have: 16 777 216.
    public static let maximumKeyCount = 1 << 24

    /// How many keys there are.
    public let keyCount: Int
    /// The run's seed.
    ///
    /// Print it: it repeats the run.
    public let seed: UInt64
    /// The version every key has before its first write; 0 means that the source knows nothing of the key yet.
    public let initialVersion: UInt64

    /// Describes a run.
    ///
    /// - Parameters:
    ///   - keyCount: The number of keys, 1 to ``maximumKeyCount``.
    ///   - seed: The run's seed.
    ///   - initialVersion: The version before the first write, at most 2^32; with 0 a key is absent until it is
    ///     written.
    /// - Throws: ``CheckerError`` with `invalidArgument` if a number is out of range.
    public init(keyCount: Int, seed: UInt64, initialVersion: UInt64 = 1) throws(CheckerError) {
        guard keyCount > 0, keyCount <= Self.maximumKeyCount else {
            throw CheckerError(.invalidArgument, "a run has 1 to \(Self.maximumKeyCount) keys, not \(keyCount)")
        }
        guard initialVersion <= 1 << 32 else {
            throw CheckerError(.invalidArgument, "the initial version is at most 2^32, not \(initialVersion)")
        }
        self.keyCount = keyCount
        self.seed = seed
        self.initialVersion = initialVersion
    }

    /// The salt that a genuine value of this key, version and writer carries.
    ///
    /// Four rounds of the SplitMix64 finalizer (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
    /// OOPSLA 2014): a value put together from parts of two others fits with a chance of 2^-64.
    func salt(key: Int, version: UInt64, writer: UInt16) -> UInt64 {
        var salt = Self.mix(seed)
        salt = Self.mix(salt ^ UInt64(bitPattern: Int64(key)))
        salt = Self.mix(salt ^ version)
        return Self.mix(salt ^ UInt64(writer))
    }

    /// Whether the value is one that this run's source can have made.
    ///
    /// It does not say that the version was ever reached: that is for the ``StalenessChecker``, which knows the times.
    ///
    /// - Parameter value: The value to look at.
    /// - Returns: Whether key and salt fit.
    public func isGenuine(_ value: VersionedValue) -> Bool {
        value.key >= 0 && value.key < keyCount
            && value.salt == salt(key: value.key, version: value.version, writer: value.writer)
    }

    private static func mix(_ input: UInt64) -> UInt64 {
        var mixed = input &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
