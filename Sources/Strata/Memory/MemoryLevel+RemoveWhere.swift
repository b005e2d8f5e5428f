extension MemoryLevel {
    /// Removes the entries whose keys satisfy a condition, such as those of a tenant who has left.
    ///
    /// Others may read and write meanwhile; what is stored meanwhile may be seen or not.
    ///
    /// Complexity: O(entries of the level).
    ///
    /// - Parameter condition: Whether the entry of a key goes. Called outside of every lock.
    public func removeAll(where condition: (Key) throws -> Bool) rethrows {
        for item in contents where try condition(item.key) { take(item.key, because: .removed) }
    }

    private func take(_ key: Key, because cause: RemovalCause) {
        let hash = hash(of: key)
        var departures = Departures()
        writer.withLock { writer in
            writer.remove(key, tag: tag(of: hash), partition(of: hash), because: cause, readers, &departures)
            writer.state.check()
        }
        departures.tell(onRemoval)
    }
}
