/// The rights of one read to fill levels that other instances change as well, each taken before the read asks below.
///
/// A value that a read has found below may be older than what another instance has written since. So a level that is shared
/// is asked for the right to be filled first, by a request that bears ``ReadRequest/rights``: it reads nothing, and adds what
/// it gives. The entry with which it is filled then bears the same rights, and the level stores it only if its own right
/// still stands. A right that is not used ends with the last entry that bears it.
@usableFromInline
package final class FillRights: Sendable, Equatable {
    private struct State: Sendable {
        var rights: [ObjectIdentifier: [[UInt8]: any FillRight]] = [:]
        var refusal: ReadTrace.Reason?
    }

    /// Whether levels are to be asked at all: not when they could not be read just now.
    package let isWorthAsking: Bool
    private let state = Locked(State())

    package init(isWorthAsking: Bool = true) {
        self.isWorthAsking = isWorthAsking
    }

    /// Adds the right to fill a key of a level.
    package func add(_ right: any FillRight, of level: AnyObject, for key: [UInt8]) {
        state.withLock { $0.rights[ObjectIdentifier(level), default: [:]][key] = right }
    }

    /// The right to fill a key of a level; it is given out once.
    package func take(of level: AnyObject, for key: [UInt8]) -> (any FillRight)? {
        state.withLock { $0.rights[ObjectIdentifier(level)]?.removeValue(forKey: key) }
    }

    /// A level has not stored what it was to be filled with.
    package func refuse(because reason: ReadTrace.Reason) { state.withLock { $0.refusal = reason } }

    /// Why a level has not stored what it was to be filled with; `nil` when it has.
    package var refusal: ReadTrace.Reason? { state.withLock { $0.refusal } }

    /// Whether both are the same rights.
    @usableFromInline
    package static func == (one: FillRights, other: FillRights) -> Bool { one === other }
}

/// The right to fill one key of one level; it ends when nobody holds it any more.
package protocol FillRight: AnyObject, Sendable {}

extension CacheLevel {
    /// The rights to fill this level with what levels below it have for these keys: to be taken before they are asked.
    ///
    /// No round trip where nobody else changes the level; else those of the level.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - isWorthAsking: Whether the level could be read just now.
    /// - Returns: What the entries that the level is filled with have to bear.
    package func rights(toFill keys: [Key], isWorthAsking: Bool = true) async -> FillRights {
        let rights = FillRights(isWorthAsking: isWorthAsking)
        guard gate != nil else { return rights }
        let request = ReadRequest(claiming: rights)
        if keys.count == 1 {
            _ = try? await entry(for: keys[0], request)
        } else {
            _ = try? await entries(for: keys, request)
        }
        return rights
    }
}
