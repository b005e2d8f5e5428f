/// Of which changes the server tells an instance: the modes of Redis' `CLIENT TRACKING`.
///
/// It decides what writes cost, not what is true: in each mode a change is known one network hop later, and memory is
/// trusted for the same time without its link. Instances of a fleet may have different modes.
public enum TrackingMode: String, Sendable, Hashable, CaseIterable {
    /// Of every change in the keyspaces that the instance uses; the default.
    ///
    /// A write costs the server a message to each instance. Right while the fleet is small, or writes are few.
    case broadcast
    /// Of the keys that the instance has read since they were changed last.
    ///
    /// The server remembers who has read what, in a table with room for `tracking-table-max-keys` keys (a million by
    /// default). A write that nobody holds costs no message; one that many hold costs several times as much as in
    /// ``broadcast``. When a connection for commands is lost, memory begins anew, as it does with the link. Observers
    /// of a level hear only of what the instance has read (``RedisLevel/changes(bufferingNewest:)``).
    case perKey = "per-key"
    /// What costs the server less, by what this instance is told and reads: ``broadcast`` at first.
    ///
    /// Every ten seconds the instance compares the changes that it was told with those among them that it had read. It
    /// goes to ``perKey`` when that would cost the server less than 70 % in two intervals one after the other, and back
    /// when it costs more than the broadcast did. When it goes to ``perKey``, memory begins anew.
    /// ``RedisClient/tracking`` says what is chosen.
    case automatic
}
