#if Hummingbird
public import HTTPTypes
internal import Hummingbird

extension HTTPField.Name {
    /// The field in which a handler names the tags of its response, parted by commas: `Cache-Tag`.
    ///
    /// A ``ResponseCache`` takes it off: callers do not see it.
    public static var cacheTag: HTTPField.Name {
        guard let name = HTTPField.Name("Cache-Tag") else { preconditionFailure("it is a token") }
        return name
    }
}

extension Error {
    /// The same without tags in the response that it stands for.
    var untagged: any Error {
        guard var error = self as? HTTPError, error.headers[.cacheTag] != nil else { return self }
        error.headers[.cacheTag] = nil
        return error
    }
}
#endif
