#if Configuration
internal import StrataRedis

extension LeaseOptions {
    private static let parts: [Setting<LeaseOptions>] = [
        .duration("duration", \.duration, .aboveZero),
        .duration("renewalLimit", \.renewalLimit, .aboveZero),
        .duration("waitLimit", \.waitLimit, .zero),
        .range("failureBackOff", orNone: \.failureBackOff),
        .integer("fetchLimit", \.fetchLimit, 1...Int.max),
    ]

    static let settings: [Setting<LeaseOptions>] = parts.map(\.reloadable)
}
#endif
