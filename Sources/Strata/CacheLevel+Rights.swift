extension CacheLevel {
    /// The rights to fill this level with what levels below it have for these keys: take them before asking those
    /// levels.
    ///
    /// No round trip where only this process changes the level; otherwise those of the level.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - isWorthAsking: Whether the level could be read just now.
    ///   - isUnread: Whether the read leaves the level out.
    /// - Returns: The rights that the entries which fill the level have to bear.
    package func rights(
        toFill keys: [Key],
        isWorthAsking: Bool = true,
        isUnread: Bool = false
    ) async -> FillRights {
        let rights = FillRights(isWorthAsking: isWorthAsking, isUnread: isUnread)
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
