extension Step where Output == Bool {
    /// Whether a condition that never waits holds; notes its answer.
    @inlinable
    @inline(__always)
    func holds(_ input: Input, _ number: UInt64, _ answers: inout ConditionAnswers) -> Bool {
        switch self {
        case .immediate(let body):
            do {
                guard try body(input) else {
                    answers.failing = number
                    return false
                }
                answers.holding = number
                return true
            } catch {
                answers.failing = number
                answers.error = error
                return false
            }
        case .suspending: return false
        }
    }
}
