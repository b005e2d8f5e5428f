#if HTTP
/// How resources are fetched.
///
/// | setting | default | why |
/// |---|---|---|
/// | timeout | 30 s | from the first byte sent to the last received |
/// | sizeLimit | 16 MiB | what is fetched is held in memory |
/// | perHost | 8 | as many at a time from one host |
/// | absentStatuses | none | a status that is not one of success is an error |
public struct HTTPFetchOptions: Sendable, Hashable {
    /// How long fetching may take, redirects and body included.
    public var timeout: Duration
    /// The largest body, in bytes.
    public var sizeLimit: Int
    /// How many are fetched from one host at a time; the others wait in the order of their arrival.
    public var perHost: Int
    /// Statuses that say that there is no such resource, which is remembered like a value.
    ///
    /// 404 and 410 are candidates.
    public var absentStatuses: Set<Int>
    /// What goes for responses that say little about their lifetime.
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
