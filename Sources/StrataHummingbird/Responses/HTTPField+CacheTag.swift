#if Hummingbird
public import HTTPTypes

extension HTTPField.Name {
    /// The field in which a handler names the tags of its response, parted by commas: `Cache-Tag`.
    ///
    /// A ``ResponseCache`` takes it off: callers do not see it.
    public static var cacheTag: HTTPField.Name {
        guard let name = HTTPField.Name("Cache-Tag") else { preconditionFailure("it is a token") }
        return name
    }
}
#endif
