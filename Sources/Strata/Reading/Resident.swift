/// A fresh value in this process's memory.
@frozen
public struct Resident<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The ticket that it was stored with.
    public let ticket: Ticket

    /// A value with its ticket.
    @inlinable
    public init(value: Value, ticket: Ticket) {
        self.value = value
        self.ticket = ticket
    }
}
