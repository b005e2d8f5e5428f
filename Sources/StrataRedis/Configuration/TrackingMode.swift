/// Which changes the server tells an instance: the modes of Redis' `CLIENT TRACKING`.
///
/// It decides what writes cost, not how true memory is: in each mode a change is known one network hop later, and
/// memory is trusted for the same time without its link. Instances of a fleet may have different modes.
public enum TrackingMode: String, Sendable, Hashable, CaseIterable {
    /// Every change in the keyspaces that the instance uses; the default.
    ///
    /// A write costs the server a message to each instance. Right for a small fleet, or for few writes.
    case broadcast
    /// Changes of the keys that the instance has read since their last change.
    ///
    /// The server remembers which connection has read which key, in a table with room for `tracking-table-max-keys`
    /// keys (a million by default). A write to a key that no instance holds costs no message; one to a key that many
    /// hold costs several times as much as in ``broadcast``. When a connection for commands is lost, memory begins
    /// anew, as it does with the link. Observers of a level hear only of what the instance has read
    /// (``RedisLevel/changes(bufferingNewest:)``).
    case perKey = "per-key"
    /// The mode that costs the server less for what this instance reads; begins with ``broadcast``.
    ///
    /// Every ten seconds the instance compares the changes that it was told with those of keys that it had read. It
    /// changes to ``perKey`` when that would cost the server less than 70 % in two intervals in a row, and back when it
    /// costs more than the broadcast did. When it changes to ``perKey``, memory begins anew. ``RedisClient/tracking``
    /// is the present mode.
    case automatic
}
