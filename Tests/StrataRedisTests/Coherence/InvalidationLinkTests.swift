import Strata
import Testing

@testable import StrataRedis

@Suite("Who is told of what becomes of a link")
struct InvalidationLinkTests {
    private final class Listener: LinkListener {
        let isDivided = false
        private let heard = Locked<[String]>([])

        var told: [String] { heard.withLock { exchange(&$0, with: []) } }

        private func note(_ what: String) { heard.withLock { $0.append(what) } }

        func linkEstablished(trustedUntil: MonotonicInstant) { note("established") }
        func linkTrusted(until: MonotonicInstant, told: MonotonicInstant) { note("trusted") }
        func linkLost() { note("lost") }
        func changed(_ name: [UInt8]) { note("changed") }
        func marksChanged(_ part: KeyspacePart?) { note("marks") }
        func everythingChanged() { note("everything") }
        func event(_ message: [UInt8], _ part: KeyspacePart?) { note("event") }
    }

    private let lost = LinkMachine.Notice.lost(RedisError(code: .connectionLost, message: "gone"))

    private func link() throws -> InvalidationLink {
        let settings = LinkSettings(try RedisConfiguration(url: "redis://127.0.0.1:1"))
        return InvalidationLink(settings: settings, wakeup: try Wakeup(), logger: nil)
    }

    @Test("a level that comes while an unused link is given up waits for the next, and is not told of a loss")
    func givenUp() throws {
        let link = try link()
        let (first, second) = (Listener(), Listener())
        let number = link.add(first, for: "a")
        #expect(link.takeTopics(of: 0)?.isEmpty == false)
        link.tell(.established(trustedUntil: .distantFuture), by: 0)
        #expect(first.told == ["established"])
        link.remove(number)
        #expect(link.takeTopics(of: 0)?.isEmpty == true)
        _ = link.add(second, for: "b")
        link.tell(lost, by: 0)
        #expect(second.told == [])
        #expect(link.takeTopics(of: 0)?.isEmpty == false)
        link.tell(.established(trustedUntil: .distantFuture), by: 0)
        #expect(second.told == ["established"] && first.told == [])
    }

    @Test("who waits for a link is told when an attempt has failed, and who is served when it is lost")
    func failed() throws {
        let link = try link()
        let listener = Listener()
        _ = link.add(listener, for: "a")
        _ = link.takeTopics(of: 0)
        link.tell(lost, by: 0)
        #expect(listener.told == ["lost"])
        link.tell(.established(trustedUntil: .distantFuture), by: 0)
        link.tell(lost, by: 0)
        #expect(listener.told == ["established", "lost"])
    }
}
