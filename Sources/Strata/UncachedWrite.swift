/// The value of a `set` whose lifetime says that nothing is kept, for a level that writes it to a source.
///
/// The levels see a removal, which is right for levels that only cache.
enum UncachedWrite {
    @TaskLocal static var value: (any Sendable)?
}
