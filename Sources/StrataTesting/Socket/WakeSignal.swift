/// Wakes a thread that sleeps in `poll`.
final class WakeSignal: Sendable {
    private let sender: StreamSocket
    private let receiver: StreamSocket

    /// The descriptor to poll for reading.
    var number: Int32 { receiver.number }

    init() throws {
        let (first, second) = try Descriptor.pair()
        first.makeNonBlocking()
        second.makeNonBlocking()
        sender = StreamSocket(first, isTCP: false)
        receiver = StreamSocket(second, isTCP: false)
    }

    func wake() {
        // A full buffer means that the thread has been woken already.
        _ = sender.send([1])
    }

    func clear() {
        receiver.discardArrived(upTo: 64 << 10)
    }
}
