/// The topics of a link: keys that begin with one of these prefixes, and these channels.
struct LinkTopics: Equatable, Sendable {
    var prefixes: [[UInt8]] = []
    var channels: [[UInt8]] = []
    /// Whether the link is also told of the keys that connections for commands have read.
    var tracksReads = false

    var isEmpty: Bool { prefixes.isEmpty }

    /// Writes the commands that turn on tracking, with the notices sent to a connection itself, and the subscriptions.
    func encode(redirectingTo number: Int64, into writer: inout CommandWriter) {
        writer.begin(6 + 2 * prefixes.count)
        writer.argument("CLIENT" as StaticString)
        writer.argument("TRACKING" as StaticString)
        writer.argument("ON" as StaticString)
        writer.argument("REDIRECT" as StaticString)
        writer.argument(number)
        writer.argument("BCAST" as StaticString)
        for prefix in prefixes {
            writer.argument("PREFIX" as StaticString)
            writer.argument(prefix)
        }
        writer.begin(2)
        writer.argument("SUBSCRIBE" as StaticString)
        writer.argument(LinkMachine.invalidationChannel)
        guard !channels.isEmpty else { return }
        writer.begin(1 + channels.count)
        writer.argument("SUBSCRIBE" as StaticString)
        for channel in channels { writer.argument(channel) }
    }
}
