import Foundation
import Strata

/// The orders of a driver as a process of its fleet gets them, and the way back.
enum Orders {
    static let urlVariable = "STRATA_LOAD_URL"

    /// The server to be used.
    static func url() throws -> String {
        guard let url = ProcessInfo.processInfo.environment[urlVariable] else {
            throw CocoaError(.fileReadNoSuchFile, userInfo: [NSLocalizedDescriptionKey: "\(urlVariable) is not set"])
        }
        return url
    }

    /// The orders in their order; ends with the standard input.
    ///
    /// A thread of its own waits for them: reading a line blocks.
    static func all<Order: Decodable & Sendable>(_ type: Order.Type) -> AsyncStream<Order> {
        let (orders, feed) = AsyncStream.makeStream(of: Order.self)
        Thread.detachNewThread {
            while let line = readLine() {
                guard let order = try? JSONDecoder().decode(Order.self, from: Data(line.utf8)) else { continue }
                feed.yield(order)
            }
            feed.finish()
        }
        return orders
    }

    /// Answers the driver, at once.
    static func answer(_ answer: some Encodable) throws {
        FileHandle.standardOutput.write(try JSONEncoder().encode(answer) + Data("\n".utf8))
    }
}

extension MonotonicInstant {
    /// Waits for this instant on a thread that is kept for it, to within the kernel's own precision.
    ///
    /// A timer of the runtime would add its own delay to what is measured.
    func reached() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let left = MonotonicInstant.now.duration(to: self) / .nanoseconds(1)
                if left > 0 { usleep(UInt32(left / 1_000)) }
                continuation.resume()
            }
        }
    }
}
