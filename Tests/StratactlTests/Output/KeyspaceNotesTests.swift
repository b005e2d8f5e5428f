import Testing

@testable import StrataRedis
@testable import stratactl

@Suite("stratactl: what is said beside a list of keyspaces")
struct KeyspaceNotesTests {
    @Test("a prefix without keyspaces is named, and keys of keyspaces beyond the limit are counted")
    func notes() {
        let none = KeyspaceSurvey(rows: [], keysPassedOver: 0)
        let line = #"stratactl: no keyspace holds anything under the prefix a\x1b; --all-prefixes looks at all"#
        #expect(none.notes(under: "a\u{1b}") == [line])
        #expect(none.notes(under: nil) == [])
        let rows = ["a", "b"].map { KeyspaceSurvey.Row(keyspace: Keyspace($0)) }
        #expect(KeyspaceSurvey(rows: rows, keysPassedOver: 0).notes(under: "strata") == [])
        for prefix in ["strata", nil] {
            #expect(
                KeyspaceSurvey(rows: rows, keysPassedOver: 3).notes(under: prefix) == [
                    "stratactl: only the first 2 keyspaces are listed; 3 keys of others were passed over"
                ]
            )
        }
    }
}
