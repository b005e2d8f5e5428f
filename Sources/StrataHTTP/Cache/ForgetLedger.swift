internal import Strata

/// Which keys were forgotten while a response for them was on its way: such a response is not kept.
///
/// It has a mark for each key that is being asked about, and none for others.
final class ForgetLedger: Sendable {
    private struct Mark {
        var users = 0
        var count = 0
    }

    private let marks = Locked<[HTTPResource: Mark]>([:])

    /// - Returns: What ``isForgotten(_:since:)`` compares with, until ``end(_:)``.
    func begin(_ key: HTTPResource) -> Int {
        marks.withLock { marks in
            marks[key, default: Mark()].users += 1
            return marks[key]?.count ?? 0
        }
    }

    func end(_ key: HTTPResource) {
        marks.withLock { marks in
            marks[key]?.users -= 1
            if marks[key]?.users == 0 { marks[key] = nil }
        }
    }

    func forget(_ key: HTTPResource) { marks.withLock { $0[key]?.count += 1 } }

    func forgetAll() {
        marks.withLock { marks in
            for key in marks.keys { marks[key]?.count += 1 }
        }
    }

    func isForgotten(_ key: HTTPResource, since count: Int) -> Bool { marks.withLock { $0[key]?.count != count } }

    var count: Int { marks.withLock { $0.count } }
}
