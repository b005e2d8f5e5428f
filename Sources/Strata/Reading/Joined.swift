/// A read that was running when a caller came, and has ended since, or that the caller has waited for as long as it
/// may.
///
/// It refers to the flight and not to its result: copying a result costs more than joining.
@frozen
public struct Joined<Value: Sendable>: Sendable {
    @usableFromInline
    let read: Delivery<Entry<Value>?>
    /// Whether the read goes on: the caller gets the fallback that it offered.
    @usableFromInline
    let isLate: Bool

    @inlinable
    package init(_ read: Delivery<Entry<Value>?>, isLate: Bool = false) {
        self.read = read
        self.isLate = isLate
    }

    /// The value; `nil` when there is none.
    ///
    /// - Throws: The error of the read.
    @inlinable
    package var value: Value? {
        get throws {
            if isLate { return offered?.value }
            switch read.outcome {
            case .success(let entry): return entry?.value
            case .failure(let error): throw Self.failure(error)
            case nil: throw CancellationError()
            }
        }
    }

    @usableFromInline
    var offered: Entry<Value>? { read.offered ?? nil }

    /// The error that a caller that has joined gets for a failure.
    @usableFromInline
    static func failure(_ error: any Error) -> any Error {
        guard error is WaitLimitReached else { return SourceFailure.cause(of: error) }
        return CacheError(code: .timeout, message: "no value within the time that the joined read may take")
    }

    /// The entry, if the read returned one.
    var entry: Entry<Value>? { isLate ? nil : (try? read.outcome?.get())??.joined }
}
