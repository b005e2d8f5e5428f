/// A value that the cache has before its source, as ``WritingBehind`` asks levels about it.
///
/// Such a value has a version that shows it to be one. So what has replaced it in a level that others change as well is told
/// apart: another instance's later value, which goes to the source in its turn, or what a fetch has brought, which is older.
public struct LateWrite: Sendable, Hashable {
    /// What a level is asked to do.
    public enum Step: Sendable, Hashable {
        /// To say what it has, and nothing else: the source is about to be written.
        case looks
        /// To end all fetches of the key, which may have asked the source before it was written, and to forget the key
        /// unless it has this write or another late one.
        case settles
        /// The same, and to forget this write, too: the source has no such value.
        case forgets
    }

    /// What a level has of the key.
    public enum Standing: Sendable, Hashable {
        /// This write.
        case stands
        /// Another late write, which came after it.
        case overtaken
        /// Neither; where the key was to be forgotten, it is.
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
