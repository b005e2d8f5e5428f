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
                var lane = LinkDirection.faulty(.pieces(of: size...size))
                for edit in edits { lane.add(edit) }
                if cut > 0 { lane.receive(input[..<cut], at: start) }
                if cut < input.count { lane.receive(input[cut...], at: start) }
                lane.receiveEnd(at: start)
                let result = lane.drain(at: start)
                #expect(result.pieces.joined() == order.map { whole[$0] }.joined(), "cut at \(cut)")
                #expect(result.then == .end)
                #expect(lane.counts.received == input.count)
            }
        }
    }

    @Test("An edit of whole replies waits for the next that begins, and healing lets go what was held back")
    func repliesUnderWay() {
        var lane = LinkDirection.faulty()
        lane.receive("$2\r\na", at: start)
        lane.add(.swapReplies())
        lane.receive("b\r\n:1\r\n", at: start)
        #expect(lane.drain(at: start).pieces.joined() == "$2\r\nab\r\n")
        lane.receive(":", at: start)
        #expect(lane.drain(at: start).pieces.joined() == ":")
        // Not amid the one that has begun.
        lane.heal(at: start)
        lane.receive("2\r\n:3\r\n", at: start)
        #expect(lane.drain(at: start).pieces.joined() == "2\r\n:1\r\n:3\r\n")
        lane.add(.swapReplies())
        lane.receive("+a\r\n", at: start)
        #expect(lane.drain(at: start).pieces == [])
        lane.heal(at: start)
        #expect(lane.drain(at: start).pieces == ["+a\r\n"])
        lane.add(.swapReplies())
        lane.receive("+b", at: start)
        lane.heal(at: start)
        lane.receive("c\r\n", at: start)
        #expect(lane.drain(at: start).pieces.joined() == "+bc\r\n")
    }

    @Test(
        "In a stream that is no Redis protocol nothing comes of an edit of whole replies",
        arguments: ["GET /\r\n", "$x\r\n"]
    )
    func noReplies(_ text: String) {
        for edit in [WireEdit.swapReplies(), .duplicateReply()] {
            var lane = LinkDirection.faulty(.init(), edit)
            lane.receive(text + "+OK\r\n+OK\r\n", at: start)
            #expect(lane.drain(at: start).pieces.joined() == text + "+OK\r\n+OK\r\n")
        }
    }

    @Test("A reply that is too long to be kept stays where it is")
    func longReply() {
        for edit in [WireEdit.swapReplies(), .duplicateReply()] {
            var lane = LinkDirection.faulty(.init(), edit)
            let long = "$\(2 << 20)\r\n\(String(repeating: "x", count: 2 << 20))\r\n"
            lane.receive(long + ":1\r\n", at: start)
            #expect(lane.drain(at: start).pieces.joined() == long + ":1\r\n")
        }
    }

    @Test("Replies of version 3 are whole replies, too")
    func versionThree() {
        let replies = [
            "%1\r\n+a\r\n:1\r\n", "|1\r\n+a\r\n_\r\n#t\r\n", "~1\r\n,1.5\r\n", "=5\r\ntxt:a\r\n", ">1\r\n(12\r\n",
            "*-1\r\n",
        ]
        for (index, reply) in replies.enumerated() {
            var lane = LinkDirection.faulty(.init(), .swallowReply(after: index))
            lane.receive(replies.joined(), at: start)
            #expect(lane.drain(at: start).pieces.joined() == replies.filter { $0 != reply }.joined())
        }
    }
}
