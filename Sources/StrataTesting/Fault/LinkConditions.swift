/// How one direction of a connection through a ``FaultProxy`` behaves until told otherwise.
///
/// The default is a link without faults.
public struct LinkConditions: Sendable, Hashable {
    /// How long each byte takes; zero by default.
    ///
    /// Bytes on their way count towards ``bufferLimit``, so a long delay also limits the throughput to the limit per
    /// delay.
    public var delay: Duration = .zero
    /// A random addition to the delay of each chunk, from zero to this; zero by default.
    ///
    /// Bytes never overtake each other.
    public var jitter: Duration = .zero
    /// The most bytes delivered in a second; `nil`, the default, for no limit.
    ///
    /// At least 1.
    public var bytesPerSecond: Int?
    /// The sizes of the pieces that the stream is cut into, each sent by itself; `nil`, the default, leaves the stream
    /// as it comes.
    ///
    /// The size of each piece is drawn at random from the range.
    ///
    /// The receiver's kernel joins pieces that arrive before it reads; a ``pieceInterval`` keeps them apart.
    public var pieceSize: ClosedRange<Int>?
    /// The least time between two pieces; zero by default.
    public var pieceInterval: Duration = .zero
    /// Whether the link is frozen: nothing is delivered, read or closed, not even when an end closes its side.
    ///
    /// The sender notices only when its own buffers are full.
    public var isStalled = false
    /// Whether everything is read and dropped, so that the sender notices nothing at all.
    public var isBlackhole = false
    /// How many bytes may wait in the proxy; 1 MiB by default.
    ///
    /// When they do, it reads no more, and the sender is held up by its own kernel.
    public var bufferLimit = 1 << 20

    /// Creates the conditions of a link without faults.
    public init() {}

    /// A link that delivers everything late.
    ///
    /// - Parameters:
    ///   - delay: How long each byte takes.
    ///   - jitter: A random addition, from zero to this.
    /// - Returns: The conditions.
    public static func delayed(by delay: Duration, jitter: Duration = .zero) -> LinkConditions {
        var conditions = LinkConditions()
        conditions.delay = delay
        conditions.jitter = jitter
        return conditions
    }

    /// A slow link.
    ///
    /// - Parameter bytesPerSecond: The most bytes delivered in a second.
    /// - Returns: The conditions.
    public static func slow(bytesPerSecond: Int) -> LinkConditions {
        var conditions = LinkConditions()
        conditions.bytesPerSecond = bytesPerSecond
        return conditions
    }

    /// A link that delivers in pieces.
    ///
    /// - Parameters:
    ///   - size: The number of bytes in a piece, drawn at random from the range.
    ///   - interval: The least time between two pieces.
    /// - Returns: The conditions.
    public static func pieces(of size: ClosedRange<Int>, every interval: Duration = .zero) -> LinkConditions {
        var conditions = LinkConditions()
        conditions.pieceSize = size
        conditions.pieceInterval = interval
        return conditions
    }

    /// The same with every value in a range that arithmetic cannot leave.
    var clamped: LinkConditions {
        var conditions = self
        let day = Duration.seconds(86_400)
        conditions.delay = min(max(delay, .zero), day)
        conditions.jitter = min(max(jitter, .zero), day)
        conditions.pieceInterval = min(max(pieceInterval, .zero), day)
        conditions.bytesPerSecond = bytesPerSecond.map { min(max($0, 1), 1 << 40) }
        conditions.pieceSize = pieceSize.map { max($0.lowerBound, 1)...max($0.upperBound, 1) }
        conditions.bufferLimit = max(bufferLimit, 1)
        return conditions
    }
}
