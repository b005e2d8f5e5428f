internal import Strata

/// One of the sockets that the I/O thread drives.
protocol LoopDriver: AnyObject {
    /// The descriptor to wait for and what for; `nil` when only time or another thread moves this connection.
    var interest: (descriptor: Int32, events: Int16)? { get }

    /// When `pump` has to be called at the latest.
    var nextDeadline: MonotonicInstant { get }

    /// Whether nothing will ever happen here again.
    var isFinished: Bool { get }

    /// Lets time pass, takes what other threads left, and sends.
    func pump(now: MonotonicInstant)

    /// The descriptor has something to say.
    func handle(events: Int16, now: MonotonicInstant)
}
