internal import CHiredis

/// The release of hiredis whose headers this build was compiled against.
public struct HiredisVersion: Sendable, Hashable, CustomStringConvertible {
    /// The major version: 0 or 1.
    public let major: Int
    /// The minor version.
    public let minor: Int
    /// The patch level.
    public let patch: Int

    /// The version of this build.
    public static let current = HiredisVersion(
        major: Int(chiredis_major()),
        minor: Int(chiredis_minor()),
        patch: Int(chiredis_patch())
    )

    /// For example `0.14.1`.
    public var description: String { "\(major).\(minor).\(patch)" }

    /// Sizes in bytes of the structures that the shim touches, to be held against the table of known releases.
    package static var structureSizes: (reader: Int, task: Int, functions: Int) {
        (chiredis_sizeof_reader(), chiredis_sizeof_task(), chiredis_sizeof_functions())
    }
}
