internal import Strata

/// The way by which the I/O thread asks a server for something.
///
/// It does not keep the client alive.
enum Lookout: Sendable {
    /// The first that is usable.
    case connections([Connection])
    case cluster(ClusterReference)

    /// A router that is not kept alive.
    struct ClusterReference: Sendable {
        weak let router: ClusterRouter?

        init(_ router: ClusterRouter) { self.router = router }
    }

    /// Sends a command without waiting for its reply; see ``Connection/post(deadline:completion:encode:)``.
    func post(
        deadline: MonotonicInstant,
        slot: @autoclosure () -> UInt16?,
        expecting expected: ReplyKinds,
        completion: @escaping @Sendable (Result<RESPValue, RedisError>) -> Void,
        encode: (inout CommandWriter) -> Void
    ) {
        switch self {
        case .connections(let connections):
            connections.firstUsable
                .post(deadline: deadline, expecting: expected, completion: completion, encode: encode)
        case .cluster(let reference):
            guard let router = reference.router else { return completion(.failure(.shutDown(nil))) }
            router.post(deadline: deadline, slot: slot(), on: nil, expecting: expected, completion, encode)
        }
    }
}
