/// By what an entry is invalidated together with others.
///
/// Entries without tags that were fetched between the same two invalidations share one.
@usableFromInline
final class MemoryEntryTags: Sendable {
    @usableFromInline let tags: [String]
    @usableFromInline let seal: TagSeal?
    @usableFromInline let asOf: UInt64

    @usableFromInline
    init(tags: [String], seal: TagSeal?, asOf: UInt64) {
        self.tags = tags
        self.seal = seal
        self.asOf = asOf
    }
}
