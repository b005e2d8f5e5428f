#if HTTP
/// How resources are fetched.
///
/// | setting | default | why |
/// |---|---|---|
/// | timeout | 30 s | from the call to the last byte received, the wait for the turn of its host included |
/// | sizeLimit | 16 MiB | what is fetched is held in memory |
/// | perHost | 8 | as many at a time from one host |
/// | absentStatuses | none | a status that is not one of success is an error |
public struct HTTPFetchOptions: Sendable, Hashable {
    /// How long a fetch may take, including the wait for the turn of its host, redirects and the body.
    public var timeout: Duration
    /// The largest body, in bytes.
    public var sizeLimit: Int
    /// How many fetches run against one host at a time; the others wait in the order of their arrival.
    public var perHost: Int
    /// Statuses that mean that there is no such resource; the absence is kept like a value.
    ///
    /// 404 and 410 are candidates.
    public var absentStatuses: Set<Int>
    /// The rules for responses that say little about their lifetime.
    public var rules: HTTPLifetime.Rules

    /// Options, each with its default.
    public init(
        timeout: Duration = .seconds(30),
        sizeLimit: Int = 16 << 20,
        perHost: Int = 8,
        absentStatuses: Set<Int> = [],
        rules: HTTPLifetime.Rules = HTTPLifetime.Rules()
    ) {
        self.timeout = timeout
        self.sizeLimit = sizeLimit
        self.perHost = perHost
        self.absentStatuses = absentStatuses
        self.rules = rules
    }
}
#endif
