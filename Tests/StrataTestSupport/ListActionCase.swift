package import Strata

/// A list, actions and what becomes of it, for every composition of levels.
package struct ListActionCase: Sendable, CustomStringConvertible {
    /// The number of the behaviour and what is done.
    package let description: String
    /// The cached list; `nil` for none.
    package let before: [Int]?
    package let actions: ListActions<Int>
    package let after: [Int]

    private init(_ name: String, _ before: [Int]?, _ actions: ListActions<Int>, _ after: [Int]) {
        description = name
        self.before = before
        self.actions = actions
        self.after = after
    }

    private typealias Actions = ListActions<Int>

    package static let all: [ListActionCase] = adding + evicting + keeping + updating + hostile

    private static let adding = [
        Self("A236 first", [1, 2], Actions().addFirst(0), [0, 1, 2]),
        Self("A236 last", [1, 2], Actions().addLast(3), [1, 2, 3]),
        Self("A236 all first", [1, 2], Actions().addAllFirst([8, 9]), [8, 9, 1, 2]),
        Self("A236 all last", [1, 2], Actions().addAllLast([8, 9]), [1, 2, 8, 9]),
        Self("A236 at a position", [1, 2, 3], Actions().add(9) { position, _ in position == 1 }, [1, 9, 2, 3]),
        Self("A236 where it first holds", [1, 2, 3], Actions().add(9) { $0 >= 1 && $1 == 3 }, [1, 9, 2, 3]),
        Self("A236 behind the last", [1, 2], Actions().add(9) { position, count in position == count }, [1, 2, 9]),
        Self(
            "A236 several at a position",
            [1, 2],
            Actions().addAll([8, 9]) { position, _ in position == 1 },
            [1, 8, 9, 2]
        ),
        Self("A237 nowhere", [1, 2], Actions().add(9) { _, _ in false }, [1, 2]),
        Self("A237 several nowhere", [1, 2], Actions().addAll([8, 9]) { _, count in count > 2 }, [1, 2]),
    ]

    private static let evicting = [
        Self("A238 first", [1, 2, 3], Actions().evictFirst(), [2, 3]),
        Self("A238 first n", [1, 2, 3], Actions().evictFirst(2), [3]),
        Self("A238 last", [1, 2, 3], Actions().evictLast(), [1, 2]),
        Self("A238 last n", [1, 2, 3], Actions().evictLast(2), [1]),
        Self("A239 first, if so many", [1, 2, 3], Actions().evictFirst { $0 == 3 }, [2, 3]),
        Self("A239 first, not so many", [1, 2, 3], Actions().evictFirst { $0 > 3 }, [1, 2, 3]),
        Self("A239 first n, if so many", [1, 2, 3], Actions().evictFirst(2) { $0 == 3 }, [3]),
        Self("A239 last, not so many", [1, 2, 3], Actions().evictLast { $0 > 3 }, [1, 2, 3]),
        Self("A239 last n, if so many", [1, 2, 3], Actions().evictLast(2) { $0 == 3 }, [1]),
        Self("A240 an element", [1, 2, 3, 2], Actions().evict { $0 == 2 }, [1, 3, 2]),
        Self("A240 with its place", [2, 2, 2], Actions().evict { $0 == 1 && $1 == 3 && $2 == 2 }, [2, 2]),
        Self("A240 none", [1, 2], Actions().evict { $0 == 7 }, [1, 2]),
        Self("A241 each", [1, 2, 3, 2], Actions().evictEach { $0 == 2 }, [1, 3]),
        Self(
            "A241 each with its place",
            [1, 2, 3, 4],
            Actions().evictEach { position, _, _ in position % 2 == 0 },
            [2, 4]
        ),
        Self("A242 all", [1, 2, 3], Actions().evictAll(), []),
    ]

    private static let keeping = [
        Self("A243 but the first three", Array(0..<10), Actions().evictAll(keepingFirst: 3), [0, 1, 2]),
        Self("A243 but the last seven", Array(0..<10), Actions().evictAll(keepingLast: 7), Array(3..<10)),
    ]

    private static let updating = [
        Self(
            "A244 the first",
            [1, 2, 1],
            Actions()
                .update {
                    $0 == 1
                } _: {
                    $0 + 10
                },
            [11, 2, 1]
        ),
        Self(
            "A244 the first with its place",
            [1, 1],
            Actions()
                .update {
                    $0 == 1 && $2 == 1
                } _: {
                    -$0
                },
            [1, -1]
        ),
        Self(
            "A244 each",
            [1, 2, 1],
            Actions()
                .updateEach {
                    $0 == 1
                } _: {
                    $0 + 10
                },
            [11, 2, 11]
        ),
        Self(
            "A244 each with its place",
            [1, 2, 3],
            Actions()
                .updateEach { p, n, _ in
                    p < n - 1
                } _: {
                    -$0
                },
            [-1, -2, 3]
        ),
        Self(
            "A245 in their order",
            [1, 2, 3],
            Actions().addLast(4).evictFirst(2).updateEach { $0 * 10 }.addFirst(0).evict { $0 == 30 },
            [0, 40]
        ),
        Self("A247 no list", nil, Actions().addLast(1).addFirst(0), [0, 1]),
        Self("A247 no list, nothing to take out", nil, Actions().evictFirst(), []),
    ]

    private static let hostile: [ListActionCase] = {
        let every: [(String, Actions)] = [
            ("first", Actions().evictFirst()), ("last", Actions().evictLast()), ("all", Actions().evictAll()),
            ("first n", Actions().evictFirst(.max)), ("last n", Actions().evictLast(.max)),
            ("keep first", Actions().evictAll(keepingFirst: 3)), ("keep last", Actions().evictAll(keepingLast: .max)),
            ("element", Actions().evict { _ in true }), ("each", Actions().evictEach { _, _, _ in true }),
            (
                "update",
                Actions()
                    .update { _ in
                        true
                    } _: {
                        $0
                    }
            ), ("update each", Actions().updateEach { $0 }),
            ("add nothing", Actions().addAllFirst([]).addAllLast([]).addAll([]) { _, _ in true }),
        ]
        return every.map { Self("A248 an empty list, \($0)", [], $1, []) } + [
            Self("A248 more than there are", [1, 2], Actions().evictFirst(3), []),
            Self("A248 more than there are, from the end", [1, 2], Actions().evictLast(.max), []),
            Self("A248 fewer than none", [1, 2], Actions().evictFirst(-1).evictLast(.min), [1, 2]),
            Self("A248 keeps more than there are", [1, 2], Actions().evictAll(keepingFirst: 9), [1, 2]),
            Self("A248 keeps fewer than none", [1, 2], Actions().evictAll(keepingFirst: -1), []),
            Self("A248 keeps fewer than none of the last", [1, 2], Actions().evictAll(keepingLast: .min), []),
        ]
    }()
}
