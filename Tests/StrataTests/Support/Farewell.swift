/// A value, or an error, that says when it is freed, and with it all that held it.
final class Farewell: Error {
    private let say: @Sendable () -> Void

    init(_ say: @escaping @Sendable () -> Void = {}) { self.say = say }

    deinit { say() }
}
