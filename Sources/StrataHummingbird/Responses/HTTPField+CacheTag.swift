#if Hummingbird
public import HTTPTypes
internal import Hummingbird

extension HTTPField.Name {
    /// The field in which a handler names the tags of its response, separated by commas: `Cache-Tag`.
    ///
    /// A ``ResponseCache`` removes it: callers do not see it.
    public static var cacheTag: HTTPField.Name {
        guard let name = HTTPField.Name("Cache-Tag") else { preconditionFailure("it is a token") }
        return name
    }
}

extension Error {
    /// The same without tags in the response that it stands for.
    func untagged(_ request: Request, _ context: some RequestContext) -> any Error {
        guard let told = self as? any HTTPResponseError,
            let answer = try? told.response(from: request, context: context),
            answer.headers[.cacheTag] != nil
        else { return self }
        return UntaggedError(error: told)
    }
}

/// An error whose response bore tags.
private struct UntaggedError: HTTPResponseError {
    let error: any HTTPResponseError

    var status: HTTPResponse.Status { error.status }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        var response = try error.response(from: request, context: context)
        response.headers[.cacheTag] = nil
        return response
    }
}
#endif
