import StrataTesting
import Testing

@Suite("Whole replies on a faulty link")
struct ReplyEditTests {
    let start = ContinuousClock.now

    private static let replies = "+OK\r\n$3\r\na\r\n\r\n*2\r\n:1\r\n*1\r\n$-1\r\n-ERR x\r\n$0\r\n\r\n"

    @Test(
        "Edits of whole replies: one is lost, comes twice, or after the next one",
        arguments: [
            ([WireEdit.swallowReply()], [1, 2, 3, 4]),
            ([.swallowReply(after: 2)], [0, 1, 3, 4]),
            ([.duplicateReply(after: 1)], [0, 1, 1, 2, 3, 4]),
            ([.swapReplies(after: 1)], [0, 2, 1, 3, 4]),
            ([.swapReplies(after: 3)], [0, 1, 2, 4, 3]),
            // Nothing comes behind the last one: it leaves with the end.
            ([.swapReplies(after: 4)], [0, 1, 2, 3, 4]),
            ([.swallowReply(), .duplicateReply(), .swapReplies(after: 2)], [1, 1, 3, 2, 4]),
            ([.swapReplies(), .swallowReply(after: 1)], [1, 0, 3, 4]),
            ([.swallowReply(after: 5), .duplicateReply(after: -1)], [0, 0, 1, 2, 3, 4]),
        ]
    )
    func replies(_ edits: [WireEdit], order: [Int]) throws {
        let input = Array(Self.replies.utf8)
        let whole = ["+OK\r\n", "$3\r\na\r\n\r\n", "*2\r\n:1\r\n*1\r\n$-1\r\n", "-ERR x\r\n", "$0\r\n\r\n"]
        try #require(whole.joined().utf8.elementsEqual(input))
        for cut in 0...input.count {
            for size in 1...4 {
                var direction = LinkDirection.faulty(.pieces(of: size...size))
                for edit in edits { direction.add(edit) }
                if cut > 0 { direction.receive(input[..<cut], at: start) }
                if cut < input.count { direction.receive(input[cut...], at: start) }
                direction.receiveEnd(at: start)
                let result = direction.drain(at: start)
                #expect(result.pieces.joined() == order.map { whole[$0] }.joined(), "cut at \(cut)")
                #expect(result.then == .end)
                #expect(direction.counts.received == input.count)
            }
        }
    }

    @Test("An edit of whole replies waits for the next that begins, and healing lets go what was held back")
    func repliesUnderWay() {
        var direction = LinkDirection.faulty()
        direction.receive("$2\r\na", at: start)
        direction.add(.swapReplies())
        direction.receive("b\r\n:1\r\n", at: start)
        #expect(direction.drain(at: start).pieces.joined() == "$2\r\nab\r\n")
        direction.receive(":", at: start)
        #expect(direction.drain(at: start).pieces.joined() == ":")
        // Not amid the one that has begun.
        direction.heal(at: start)
        direction.receive("2\r\n:3\r\n", at: start)
        #expect(direction.drain(at: start).pieces.joined() == "2\r\n:1\r\n:3\r\n")
        direction.add(.swapReplies())
        direction.receive("+a\r\n", at: start)
        #expect(direction.drain(at: start).pieces == [])
        direction.heal(at: start)
        #expect(direction.drain(at: start).pieces == ["+a\r\n"])
        direction.add(.swapReplies())
        direction.receive("+b", at: start)
        direction.heal(at: start)
        direction.receive("c\r\n", at: start)
        #expect(direction.drain(at: start).pieces.joined() == "+bc\r\n")
    }

    @Test(
        "In a stream that is no Redis protocol nothing comes of an edit of whole replies",
        arguments: ["GET /\r\n", "$x\r\n"]
    )
    func noReplies(_ text: String) {
        for edit in [WireEdit.swapReplies(), .duplicateReply()] {
            var direction = LinkDirection.faulty(.init(), edit)
            direction.receive(text + "+OK\r\n+OK\r\n", at: start)
            #expect(direction.drain(at: start).pieces.joined() == text + "+OK\r\n+OK\r\n")
        }
    }

    @Test("A reply that is too long to be kept stays where it is")
    func longReply() {
        for edit in [WireEdit.swapReplies(), .duplicateReply()] {
            var direction = LinkDirection.faulty(.init(), edit)
            let long = "$\(2 << 20)\r\n\(String(repeating: "x", count: 2 << 20))\r\n"
            direction.receive(long + ":1\r\n", at: start)
            #expect(direction.drain(at: start).pieces.joined() == long + ":1\r\n")
        }
    }

    @Test("Replies of version 3 are whole replies, too")
    func versionThree() {
        let replies = [
            "%1\r\n+a\r\n:1\r\n", "|1\r\n+a\r\n_\r\n#t\r\n", "~1\r\n,1.5\r\n", "=5\r\ntxt:a\r\n", ">1\r\n(12\r\n",
            "*-1\r\n",
        ]
        for (index, reply) in replies.enumerated() {
            var direction = LinkDirection.faulty(.init(), .swallowReply(after: index))
            direction.receive(replies.joined(), at: start)
            #expect(direction.drain(at: start).pieces.joined() == replies.filter { $0 != reply }.joined())
        }
    }
}
