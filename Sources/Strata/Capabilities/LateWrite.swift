/// A value that the cache has before its source, as ``WritingBehind`` asks levels about it.
///
/// Its version marks it as such a value. So the level can tell what has replaced it where others write, too: another
/// instance's later value, which goes to the source in its turn, or the result of a fetch, which is older.
public struct LateWrite: Sendable, Hashable {
    /// What the level has to do.
    public enum Step: Sendable, Hashable {
        /// Say what it has, and nothing else: the source is about to be written.
        case looks
        /// End all fetches of the key, which may have asked the source before the write, and forget the key unless it
        /// has this write or another late one.
        case settles
        /// The same, and forget this write, too: the source has no such value.
        case forgets
    }

    /// What a level has of the key.
    public enum Standing: Sendable, Hashable {
        /// This write.
        case stands
        /// Another late write, which came after it.
        case overtaken
        /// Neither; a key that had to be forgotten is.
        case gone
    }

    /// The version of the write.
    public let version: EntryVersion
    /// What the level is asked to do.
    public let step: Step

    /// A question about a write.
    public init(_ version: EntryVersion, _ step: Step) {
        self.version = version
        self.step = step
    }
}

extension EntryVersion {
    /// The upper half of the versions of late writes.
    ///
    /// Others are random: of 2⁶⁴ of them one has it by chance.
    private static var lateHalf: UInt64 { 0x9A5D_27E1_C4B8_6F03 }

    /// A new stamp for a late write.
    package static func late() -> EntryVersion { EntryVersion(high: lateHalf, low: .random(in: 0 ... .max)) }

    /// Whether this is the stamp of a late write.
    package var isLate: Bool { high == Self.lateHalf }

    /// The bytes with which those of late writes begin.
    package static var lateBytes: [UInt8] { Array(EntryVersion(high: lateHalf, low: 0).bytes.prefix(8)) }
}
