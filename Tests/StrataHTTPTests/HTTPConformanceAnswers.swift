#if HTTP
@testable import StrataHTTP

// The answers of servers that the conformance tests use over and over, and two cases.

let date = "Sun, 06 Nov 1994 08:49:37 GMT"

func fields(_ pairs: (String, String)...) -> HTTPFields {
    HTTPFields(pairs.map { (name: $0.0, value: $0.1) })
}

func fresh(_ more: (String, String)..., body: String = "v", status: Int = 200) -> LocalServer.Answer {
    .response(
        status,
        HTTPFields(([("cache-control", "max-age=3600"), ("date", date)] + more).map { (name: $0.0, value: $0.1) }),
        body: status == 204 ? "" : body
    )
}

/// Fresh ones are stored and served; the same answer is asked for anew otherwise.
func isReused(_ name: String, _ answer: LocalServer.Answer, rules: HTTPLifetime.Rules = .init()) -> HTTPConformanceCase
{
    HTTPConformanceCase(name, rules: rules, .asks(says: answer), .stored())
}

func isAskedAgain(_ name: String, _ answer: LocalServer.Answer, rules: HTTPLifetime.Rules = .init())
    -> HTTPConformanceCase
{
    HTTPConformanceCase(name, rules: rules, .asks(says: answer), .asks(says: .response(200, body: "new"), body: "new"))
}
#endif
