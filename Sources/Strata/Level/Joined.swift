/// What a read has brought that was under way already.
@frozen
public struct Joined<Value: Sendable>: Sendable {
    /// The entry; `nil` when there is none.
    public let entry: Entry<Value>?

    /// What a read has brought.
    @inlinable
    public init(entry: Entry<Value>?) {
        self.entry = entry
    }
}
