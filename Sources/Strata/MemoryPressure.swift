/// How much memory a level is asked to give back.
public enum MemoryPressure: Sendable, Hashable {
    /// Give back the coldest quarter.
    case moderate
    /// Give back everything that can be read again.
    case critical
}
