#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// What a thread waits for in `poll`, and what came.
package struct Readiness {
    package struct Interest: OptionSet {
        package let rawValue: UInt8
        package static let read = Interest(rawValue: 1)
        package static let write = Interest(rawValue: 2)

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }
    }

    private var entries: [pollfd] = []

    package init() {}

    var count: Int { entries.count }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
    }

    /// Adds a descriptor.
    ///
    /// Without interest it is left out: `poll` reports a hang-up even to those who did not ask.
    package mutating func add(_ number: Int32, _ interest: Interest) {
        var events: Int32 = 0
        if interest.contains(.read) { events |= Int32(POLLIN) }
        if interest.contains(.write) { events |= Int32(POLLOUT) }
        entries.append(pollfd(fd: events == 0 ? -1 : number, events: Int16(events), revents: 0))
    }

    /// Sleeps until something is ready or the deadline (`nil`: none) has come.
    package mutating func wait(until deadline: ContinuousClock.Instant?) {
        let timeout = deadline.map(Self.milliseconds(until:)) ?? -1
        _ = unsafe entries.withUnsafeMutableBufferPointer { buffer in
            unsafe poll(buffer.baseAddress, nfds_t(buffer.count), timeout)
        }
    }

    /// Whether the descriptor added as number `index` can be read, or has ended or failed.
    package func canRead(_ index: Int) -> Bool {
        entries[index].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0
    }

    /// Whether the descriptor added as number `index` can be written, or has failed.
    func canWrite(_ index: Int) -> Bool {
        entries[index].revents & Int16(POLLOUT | POLLHUP | POLLERR) != 0
    }

    // Rounded up: a wait that ends early would only be repeated.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return 0 }
        return left < .seconds(60) ? Int32((left / .milliseconds(1)).rounded(.up)) : 60_000
    }
}
