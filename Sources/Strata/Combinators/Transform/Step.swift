/// A function that may suspend, or one that never does and so can run on the path of a hit in memory.
@usableFromInline
package enum Step<Input, Output>: Sendable {
    case immediate(@Sendable (Input) throws -> Output)
    case suspending(@Sendable (Input) async throws -> Output)

    @inlinable
    package func callAsFunction(_ input: Input) async throws -> Output {
        switch self {
        case .immediate(let body): try body(input)
        case .suspending(let body): try await body(input)
        }
    }

    @inlinable
    var isImmediate: Bool {
        if case .immediate = self { true } else { false }
    }

    /// What the function returns if it never waits; `nil` when it might, or has thrown.
    ///
    /// The closure is called in place: a copy would count references, on the path of a hit in memory.
    @inlinable
    @inline(__always)
    func immediately(_ input: Input) -> Output? {
        switch self {
        case .immediate(let body): try? body(input)
        case .suspending: nil
        }
    }

    /// The value in a level's memory after this function, if that needs no suspension.
    @inlinable
    func resident<Level: CacheLevel>(
        of level: Level,
        _ key: Level.Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Output>? where Input == (Level.Key, Level.Value) {
        guard isImmediate, let resident = level.resident(key, at: now, &answers),
            let output = immediately((key, resident.value))
        else { return nil }
        return Resident(value: output, ticket: resident.ticket)
    }

    /// This function, then another one on what it returns.
    @inlinable
    func then<Other>(_ next: Step<Output, Other>) -> Step<Input, Other> {
        switch (self, next) {
        case (.immediate(let first), .immediate(let second)): .immediate { try second(try first($0)) }
        case (_, _): .suspending { try await next(try await self($0)) }
        }
    }

    /// This function where `condition` holds, and elsewhere the error of a condition that does not hold.
    @inlinable
    func conditioned(_ condition: Step<Input, Bool>) -> Step<Input, Output> {
        switch (self, condition) {
        case (.immediate(let body), .immediate(let isSatisfied)):
            .immediate { input in
                guard try isSatisfied(input) else { throw CacheError.conditionNotSatisfied }
                return try body(input)
            }
        case (_, _):
            .suspending { input in
                guard try await condition(input) else { throw CacheError.conditionNotSatisfied }
                return try await self(input)
            }
        }
    }

    /// This function on a part of another input.
    @inlinable
    func on<Other>(_ part: @escaping @Sendable (Other) -> Input) -> Step<Other, Output> {
        switch self {
        case .immediate(let body): .immediate { try body(part($0)) }
        case .suspending(let body): .suspending { try await body(part($0)) }
        }
    }
}

extension CacheError {
    @usableFromInline static var conditionNotSatisfied: CacheError {
        CacheError(code: .conditionNotSatisfied, message: "the condition is not satisfied")
    }
}
