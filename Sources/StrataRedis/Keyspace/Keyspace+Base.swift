internal import Strata

extension Keyspace {
    /// Cuts a key's name behind its second colon, where the keyspace ends.
    ///
    /// Cheaper than ``KeyspaceEntryName``, for walking over a whole database. `nil` when the name has not the form of a
    /// value's or a lease's.
    static func split(_ name: [UInt8]) -> (base: ArraySlice<UInt8>, kind: KeyspaceEntryName.Kind)? {
        let colon = UInt8(ascii: ":")
        guard let first = name.firstIndex(of: colon), let second = name[(first + 1)...].firstIndex(of: colon) else {
            return nil
        }
        let rest = name[(second + 1)...]
        guard rest.last == UInt8(ascii: "}") else { return nil }
        let base = name[...second]
        if rest.starts(with: "v:{".utf8) { return (base, .value) }
        return rest.starts(with: "l:{".utf8) ? (base, .lease) : nil
    }

    /// The keyspace whose names begin with `base`; `nil` when no keyspace's do.
    init?(base: ArraySlice<UInt8>) {
        let parts = base.dropLast().split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2,
            let prefix = PercentEncoding.decode(parts[0]).flatMap({ String(validating: $0, as: UTF8.self) }),
            let name = PercentEncoding.decode(parts[1]).flatMap({ String(validating: $0, as: UTF8.self) })
        else { return nil }
        self.init(name, prefix: prefix)
        guard values.dropLast(2).elementsEqual(base) else { return nil }
    }
}
