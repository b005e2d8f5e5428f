/// A source that a call brings with it, of whatever types: what a read carries down through the levels.
package protocol AnyCallSource: AnyObject, Sendable {
    /// The source for one key, by the name that the source knows it by.
    func asking(for key: some Hashable & Sendable) -> any AnyCallSource

    /// The source by other names of its keys.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - names: Their other names, in the same order. Of keys that share a name the first is asked for.
    /// - Returns: The source that knows its keys by these names.
    func renaming<Key: Hashable & Sendable>(_ keys: [Key], to names: [some Hashable & Sendable]) -> any AnyCallSource
}

extension ReadRequest {
    /// The same request for one key: a source that the call has brought for several is asked for this one.
    func asking(for key: some Hashable & Sendable) -> ReadRequest {
        guard let callSource else { return self }
        var request = self
        request.callSource = callSource.asking(for: key)
        return request
    }
}
