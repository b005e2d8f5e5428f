/// A password: it can be sent, it cannot be printed.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    /// Wraps a password.
    public init(_ text: String) {
        self.text = text
    }

    /// A fixed text.
    public var description: String { "••••" }
    /// A fixed text.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
