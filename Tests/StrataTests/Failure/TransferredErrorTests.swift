import Testing

@testable import Strata

@Suite("Errors that travel")
struct TransferredErrorTests {
    private struct NotFound: TransferableError {
        var transferCode = "not-found"
        var transferDetail = ""
    }

    private struct Plain: Error {}

    @Test(
        "what is written down of an error is read again",
        arguments: ["", "of customers", "[odd] text", "  two  spaces", "\u{301}mark"]
    )
    func roundTrip(detail: String) throws {
        let text = TransferredError.text(of: NotFound(transferDetail: detail))
        let read = try #require(TransferredError(text: text))
        #expect(read.code == "not-found")
        #expect(read.detail == detail)
    }

    @Test(
        "what is no code does not travel",
        arguments: ["", "a b", "ä", "]", String(repeating: "a", count: 65), "a\n"]
    )
    func badCodes(code: String) {
        let text = TransferredError.text(of: NotFound(transferCode: code))
        #expect(text == "NotFound")
        #expect(TransferredError(text: text) == nil)
    }

    @Test("an error that has not opted in tells its type and nothing else; older records have that alone")
    func plain() {
        #expect(TransferredError.text(of: Plain()) == "Plain")
        for text in ["Plain", "", " ", "Plain [", "Plain []", "[a]", "Plain a] b", "Dictionary<Int, Array<Int>>"] {
            #expect(TransferredError(text: text) == nil)
            #expect(CacheError.sourceFailed(text, retryAfter: .zero).transferred == nil)
        }
    }

    @Test("a detail is cut between characters, and is of one line")
    func detail() throws {
        let long = TransferredError.text(of: NotFound(transferDetail: String(repeating: "ä\n", count: 200)))
        #expect(long.utf8.count <= 200)
        let read = try #require(TransferredError(text: long))
        #expect(read.detail.utf8.count <= 100)
        #expect(!read.detail.contains("\n") && !read.detail.contains("\u{fffd}"))
    }

    @Test("an error that has come from another process goes on to a third")
    func twice() {
        let first = CacheError.sourceFailed("NotFound [not-found] x", retryAfter: .seconds(1))
        #expect(TransferredError.text(of: first) == "CacheError [not-found] x")
    }
}
