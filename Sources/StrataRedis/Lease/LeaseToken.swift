/// The proof of who holds a lease: 128 random bits, new for every fetch.
struct LeaseToken: Sendable, Hashable {
    let bytes: [UInt8]

    init() {
        var generator = SystemRandomNumberGenerator()
        bytes = (0..<16).map { _ in generator.next() }
    }
}
