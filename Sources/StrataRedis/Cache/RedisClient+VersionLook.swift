internal import Strata

extension RedisClient {
    /// A function that reads the version of the value under a name, for calls from the I/O thread.
    ///
    /// It holds the way to the server and not the client, so that a listener does not keep the client alive.
    func versionLook() -> @Sendable ([UInt8], @escaping @Sendable (EntryVersion?) -> Void) -> Void {
        let lookout = lookout
        let timeout = configuration.commandTimeout
        return { name, completion in
            let deadline = MonotonicInstant.coarse.advanced(by: timeout)
            lookout.post(deadline: deadline, slot: HashSlot.of(name), expecting: .bytes) { outcome in
                completion((try? outcome.get())?.bytes.flatMap { Envelope.version(inStamp: $0) })
            } encode: { writer in
                writer.begin(4)
                writer.argument("GETRANGE" as StaticString)
                writer.argument(name)
                writer.argument(Int64(Envelope.versionRange.lowerBound))
                writer.argument(Int64(Envelope.versionRange.upperBound - 1))
            }
        }
    }
}
