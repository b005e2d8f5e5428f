internal import Strata

/// What the link to one node of a cluster tells one keyspace.
final class NodeListener: LinkListener {
    /// The keyspace's registration.
    let number: UInt64
    let endpoint: RedisEndpoint
    private let links: Reference
    private let listener: any PartListener

    private struct Reference: Sendable {
        weak let links: ClusterLinks?
    }

    init(_ links: ClusterLinks, _ listener: any PartListener, _ number: UInt64, _ endpoint: RedisEndpoint) {
        self.links = Reference(links: links)
        self.listener = listener
        self.number = number
        self.endpoint = endpoint
    }

    var isDivided: Bool { true }

    var hearsLeases: Bool { listener.hearsLeases }

    var hearsEverything: Bool { listener.hearsEverything }

    func linkEstablished(trustedUntil: MonotonicInstant) {
        links.links?.note(number) { $0.established(endpoint, until: trustedUntil) }
        links.links?.established()
    }

    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant) {
        links.links?.note(number) { $0.trusted(endpoint, until: until, told: told) }
    }

    func linkLost() { links.links?.note(number) { $0.lost(endpoint) } }

    func changed(_ name: [UInt8]) { listener.changed(name) }

    func marksChanged(_ part: KeyspacePart?) { listener.marksChanged(part) }

    func everythingChanged() { links.links?.flushed(endpoint, for: number) }

    func event(_ message: [UInt8], _ part: KeyspacePart?) { listener.event(message, part) }
}
