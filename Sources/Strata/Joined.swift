/// A read that was under way when a caller came, and has ended since.
///
/// Refers to what the read has brought: handing that around would cost more than joining.
@frozen
public struct Joined<Value: Sendable>: Sendable {
    @usableFromInline
    let read: Delivery<Entry<Value>?>

    @inlinable
    package init(_ read: Delivery<Entry<Value>?>) {
        self.read = read
    }

    /// The value; `nil` when there is none.
    ///
    /// - Throws: What the read has thrown.
    @inlinable
    package var value: Value? {
        get throws {
            switch read.outcome {
            case .success(let entry): return entry?.value
            case .failure(let error): throw SourceFailure.cause(of: error)
            case nil: throw CancellationError()
            }
        }
    }

    /// The entry, if the read has brought one.
    var entry: Entry<Value>? { (try? read.outcome?.get())??.joined }
}
