/// Why a call of a cache failed.
public struct CacheError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    ///
    /// More may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        package init(description: String) {
            self.description = description
        }

        /// No level has the key.
        public static let miss = Code(description: "miss")
        /// Several levels could not be written or emptied; ``CacheError/causes`` has each one's error, the last level's
        /// last.
        ///
        /// Never thrown by a read.
        public static let levelsFailed = Code(description: "levels failed")
        /// The value cannot be encoded, or the stored bytes cannot be decoded.
        public static let codec = Code(description: "codec")
        /// The value is larger than the level's limit.
        public static let tooLarge = Code(description: "too large")
        /// The source failed in another process a moment ago, and must not be asked again yet.
        ///
        /// ``CacheError/transferred`` has that error, if it can travel. In the process in which the source failed,
        /// every caller gets the source's own error.
        public static let sourceFailed = Code(description: "source failed")
        /// The condition of a level or a transformer does not hold.
        public static let conditionNotSatisfied = Code(description: "condition not satisfied")
        /// A batch has more keys than values, or fewer.
        public static let countMismatch = Code(description: "count mismatch")
        /// The source answered that nothing has changed, and there is no old value.
        public static let notModified = Code(description: "not modified")
        /// There are too many tags, or one is too long; see ``TagLimits``.
        public static let invalidTags = Code(description: "invalid tags")
        /// Declared keyspaces contradict each other.
        public static let invalidKeyspaces = Code(description: "invalid keyspaces")
        /// An eviction names the key of a provider that has none.
        public static let invalidScope = Code(description: "invalid scope")
        /// There was no value within the time that the caller could wait.
        ///
        /// In ``LostWrite/error`` and behind ``notWritten``: the write had not ended when its time, or the cache, did.
        public static let timeout = Code(description: "timed out")
        /// An update was not made: others have changed the key each time.
        public static let conflict = Code(description: "conflict")
        /// An update may have been made or not: the answer was lost, and what is stored now does not tell.
        ///
        /// ``CacheError/causes`` has the error of the call whose answer was lost.
        public static let outcomeUnknown = Code(description: "outcome unknown")
        /// No level of the cache can compare and store, so nothing can be updated.
        public static let notUpdatable = Code(description: "not updatable")
        /// No cache is registered by the name.
        public static let unknownCache = Code(description: "unknown cache")
        /// Another cache is registered by the name.
        public static let nameTaken = Code(description: "name taken")
        /// The cache of the name has other types of keys or values than were asked for.
        public static let otherTypes = Code(description: "other types")
        /// The source was written, but a level could not forget the old value, and could not keep the removal for
        /// later.
        ///
        /// This instance does not serve the old value; others may, until its lifetime ends. ``CacheError/causes`` has
        /// the level's error.
        public static let notForgotten = Code(description: "not forgotten")
        /// Too many writes wait for the source; nothing was changed.
        public static let overloaded = Code(description: "overloaded")
        /// A write that the call waited for has not reached the source, and is no longer tried.
        ///
        /// ``CacheError/causes`` has what the source has thrown, or ``timeout`` for a write that it was never asked
        /// for, that did not end in time, or that a drain has ended.
        public static let notWritten = Code(description: "not written")
        /// The closure that writes a key to the source has set or deleted that key in the same cache.
        ///
        /// It would wait for its own end. Tasks that the closure has started and does not wait for get this error, too,
        /// until the closure ends. That call did not write the source.
        public static let writesItself = Code(description: "writes itself")
    }

    /// What kind of failure it was.
    public var code: Code
    /// What went wrong, for a person.
    ///
    /// Holds neither keys nor values.
    public var message: String
    /// The errors behind this one, the one of the lowest level last.
    public var causes: [any Error]
    /// When it makes sense to ask again.
    public var retryAfter: Duration?
    /// The error of another process, if it can travel.
    public var transferred: TransferredError?

    /// An error with its parts.
    public init(code: Code, message: String, causes: [any Error] = []) {
        self.code = code
        self.message = message
        self.causes = causes
    }

    /// The code and the message.
    public var description: String { "cache: \(code): \(message)" }

    /// The failure of a fetch of another instance.
    package static func sourceFailed(_ message: String, retryAfter: Duration) -> CacheError {
        var error = CacheError(code: .sourceFailed, message: "the last fetch failed with \(message)")
        error.retryAfter = retryAfter
        error.transferred = TransferredError(text: message)
        return error
    }

    /// A caller has waited long enough, by the running time of a clock.
    package static func late(since start: MonotonicInstant, by clock: CacheClock = .system) -> CacheError {
        CacheError(code: .timeout, message: "no value within \(start.duration(to: clock.running))")
    }

    /// One error for several: itself when it is alone.
    static func combining(_ errors: [any Error]) -> any Error {
        guard errors.count > 1 else { return errors[0] }
        let flat = errors.flatMap { error in
            if let error = error as? CacheError, error.code == .levelsFailed { error.causes } else { [error] }
        }
        let message = flat.map { "\(type(of: $0))" }.joined(separator: ", then ")
        return CacheError(code: .levelsFailed, message: "\(flat.count) levels failed: \(message)", causes: flat)
    }
}
