/// Tells a person on the standard error output how far a long walk is, twice a second at most.
///
/// Only on a terminal: in a file or a pipe it would be no more than noise.
struct WalkProgress {
    private static let interval: Duration = .milliseconds(500)

    private var last = ContinuousClock.now

    mutating func report(_ keys: Int) { report("\(Quantity.text(keys, "key")) so far") }

    /// Tells it in words.
    mutating func report(_ text: @autoclosure () -> String) {
        guard StandardError.isTerminal else { return }
        let now = ContinuousClock.now
        guard last.duration(to: now) >= Self.interval else { return }
        last = now
        StandardError.line("stratactl: \(text())")
    }
}
