extension FaultProxy {
    /// The direction in which bytes flow.
    public struct Directions: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// What the client sends.
        public static let toServer = Directions(rawValue: 1)
        /// What the server sends.
        public static let toClient = Directions(rawValue: 2)
        /// Both directions.
        public static let both: Directions = [.toServer, .toClient]
    }

    /// The number of a connection: the first one accepted is 1.
    public struct ConnectionID: Sendable, Hashable, Comparable, CustomStringConvertible {
        let number: Int

        /// The number.
        public var description: String { "connection \(number)" }

        /// Whether one connection was accepted before another.
        ///
        /// - Parameters:
        ///   - left: A connection.
        ///   - right: Another.
        /// - Returns: `true` when the first is older.
        public static func < (left: ConnectionID, right: ConnectionID) -> Bool {
            left.number < right.number
        }
    }

    /// Which connections a call affects.
    public enum Scope: Sendable, Hashable {
        /// Those that are open now, and all later ones.
        case all
        /// Those that are open now.
        case live
        /// All later ones.
        case later
        /// One connection; nothing happens if it is closed.
        case connection(ConnectionID)

        var includesLater: Bool { self == .all || self == .later }
    }

    /// What happens to clients that connect.
    public enum Admission: Sendable, Hashable {
        /// They are connected to the server.
        case accept
        /// They are accepted, and reset at once.
        case reset
        /// They are refused, as by a host without a server.
        case refuse
        /// They wait: the kernel accepts them, and nothing is answered.
        case ignore
    }
}
