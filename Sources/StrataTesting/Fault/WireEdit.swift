/// One fault at one place of a stream of bytes through a ``FaultProxy``.
///
/// Places are counted in bytes of the original stream that are still to be delivered when the edit is given: 0 is the
/// next byte. Bytes that another edit swallows count, bytes that another edit adds do not. Edits are independent of
/// each other and may be given in any number; each happens once.
///
/// Edits of whole replies count replies instead: 0 is the next one that begins to arrive at the proxy. In the direction
/// of the server they affect commands. They need to see the protocol, so they do nothing in a stream with TLS. The
/// second of two edits for the same reply affects the reply behind it.
public struct WireEdit: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case corrupt(mask: UInt8?)
        case swallow(Int)
        case duplicate(Int)
        case insert([UInt8])
        case stall
        case end
        case close
        case reset
        case reply(ReplyFaults.Fault)
    }

    package let position: Int
    package let kind: Kind

    private init(_ position: Int, _ kind: Kind) {
        self.position = max(position, 0)
        self.kind = kind
    }

    /// Flips bits of one byte.
    ///
    /// - Parameters:
    ///   - position: Which byte.
    ///   - mask: Which bits to flip; `nil` for one at random.
    /// - Returns: The edit.
    public static func corrupt(byteAt position: Int = 0, mask: UInt8? = nil) -> WireEdit {
        WireEdit(position, .corrupt(mask: mask))
    }

    /// Takes bytes out of the stream.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - position: After how many bytes.
    /// - Returns: The edit.
    public static func swallow(_ count: Int, after position: Int = 0) -> WireEdit {
        WireEdit(position, .swallow(max(count, 0)))
    }

    /// Delivers bytes twice: all of them, and then all of them again.
    ///
    /// - Parameters:
    ///   - count: How many, at most 1 MiB.
    ///   - position: After how many bytes.
    /// - Returns: The edit.
    public static func duplicate(_ count: Int, after position: Int = 0) -> WireEdit {
        WireEdit(position, .duplicate(min(max(count, 0), 1 << 20)))
    }

    /// Delivers bytes that were never sent.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - position: After how many bytes.
    /// - Returns: The edit.
    public static func insert(_ bytes: [UInt8], after position: Int = 0) -> WireEdit {
        WireEdit(position, .insert(bytes))
    }

    /// Freezes this direction (``LinkConditions/isStalled``).
    ///
    /// - Parameter position: After how many bytes.
    /// - Returns: The edit.
    public static func stall(after position: Int = 0) -> WireEdit {
        WireEdit(position, .stall)
    }

    /// Ends this direction alone (FIN, a half-close).
    ///
    /// Bytes that the sender sends later are dropped.
    ///
    /// - Parameter position: After how many bytes.
    /// - Returns: The edit.
    public static func end(after position: Int = 0) -> WireEdit {
        WireEdit(position, .end)
    }

    /// Closes the connection to both ends (FIN).
    ///
    /// - Parameter position: After how many bytes.
    /// - Returns: The edit.
    public static func close(after position: Int = 0) -> WireEdit {
        WireEdit(position, .close)
    }

    /// Resets the connection to both ends (RST).
    ///
    /// A Unix-domain socket has no reset; there it is a close.
    ///
    /// - Parameter position: After how many bytes.
    /// - Returns: The edit.
    public static func reset(after position: Int = 0) -> WireEdit {
        WireEdit(position, .reset)
    }

    /// Takes one whole reply out of the stream, so that each reply behind it comes one place too early.
    ///
    /// - Parameter position: After how many replies.
    /// - Returns: The edit.
    public static func swallowReply(after position: Int = 0) -> WireEdit {
        WireEdit(position, .reply(.swallow))
    }

    /// Delivers one whole reply twice, so that each reply behind it comes one place too late.
    ///
    /// - Parameter position: After how many replies. One of more than 1 MiB is left as it is.
    /// - Returns: The edit.
    public static func duplicateReply(after position: Int = 0) -> WireEdit {
        WireEdit(position, .reply(.duplicate))
    }

    /// Delivers one whole reply after the next one.
    ///
    /// It is held back until the next one has come, or the stream ends. One of more than 1 MiB is left where it is.
    ///
    /// - Parameter position: After how many replies.
    /// - Returns: The edit.
    public static func swapReplies(after position: Int = 0) -> WireEdit {
        WireEdit(position, .reply(.swap))
    }
}
