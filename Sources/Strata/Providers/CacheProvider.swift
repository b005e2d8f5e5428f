/// The declaration of a cached record: its name, its key, its type and how long it lasts.
///
/// Declare what a service caches as cases of enums, one enum for each type of values:
///
/// ```swift
/// enum Repositories: CacheProvider {
///     typealias Value = [Repository]
///     case popular
///     case found(by: String, page: Int)
///
///     var key: ProviderKey {
///         switch self {
///         case .popular: .single
///         case .found(let filter, let page): .group(filter, page)
///         }
///     }
///     var lifetime: EntryLifetime { EntryLifetime(freshFor: .seconds(300)) }
/// }
/// ```
///
/// Read all of it through one ``ProviderCache``:
///
/// ```swift
/// let list = try await cache.value(of: Repositories.found(by: "swift", page: 1)) {
///     try await service.repositories("swift", page: 1)
/// }
/// ```
///
/// Where that is too much, ``Provider`` is a provider made of values.
public protocol CacheProvider<Value>: Sendable {
    /// What is cached.
    associatedtype Value: Codable & Sendable

    /// The name under which records are kept; two providers with one name share records.
    ///
    /// By default the name of the type, with its module and the types that it lies in, and that of the case without its
    /// arguments. That name is found by reflection at each read, which takes about a microsecond. Write the name
    /// yourself where reads are frequent, where the type is generic, private or may be renamed, or where it has a
    /// description of its own. The file of a private type is not part of its name, so two types of one name would share
    /// records.
    var name: String { get }
    /// What tells the records of the provider apart; ``ProviderKey/single`` by default.
    var key: ProviderKey { get }
    /// How long a record lasts; by default what the policy of the cache says.
    var lifetime: EntryLifetime { get }
    /// Whether a file that is nearly full may drop a record before its end; true by default.
    ///
    /// One whose lifetime is ``EntryLifetime/unlimited`` is never dropped. Redis decides by its own policy
    /// (`maxmemory-policy`), and memory by use.
    var isExpirable: Bool { get }
    /// More tags by which records can be invalidated; none by default.
    ///
    /// Those of the provider and of its key are always there.
    var tags: [String] { get }
    /// The number of the stored form; by default that of the codec, which is 0 or that of a ``SchemaVersioned`` type.
    ///
    /// A record with a lower number is loaded anew, unless the codec has a migration for it (``Codec/migrating(_:)``).
    /// One with a higher number stays where it is: a release that does not know it loads the value for itself, and
    /// keeps nothing.
    var schema: UInt32 { get }
    /// How values become bytes below memory; ``Codec/cbor`` by default.
    ///
    /// With encryption or a signature a record is bound to its name and key, and cannot be moved to another.
    static var codec: Codec<Value> { get }
}

extension CacheProvider {
    /// The name of the type, and that of the case without its arguments.
    public var name: String { ProviderName.reflected(self) }
    /// One record.
    public var key: ProviderKey { .single }
    /// As the policy of the cache says.
    public var lifetime: EntryLifetime { .byPolicy }
    /// A full file may drop it.
    public var isExpirable: Bool { true }
    /// No tags of its own.
    public var tags: [String] { [] }
    /// That of the codec.
    public var schema: UInt32 { Self.codec.schema }
    /// CBOR.
    public static var codec: Codec<Value> { .cbor }
}

/// A provider that is a value: for a record that needs no type of its own.
///
/// ```swift
/// extension CacheProvider where Self == Provider<Profile> {
///     static func profile(_ id: Int) -> Self { Provider("profile", key: .key(id)) }
/// }
/// ```
///
/// Reads name it as they name a case:
///
/// ```swift
/// let profile = try await cache.value(of: .profile(7)) { try await users.profile(7) }
/// ```
public struct Provider<Value: Codable & Sendable>: CacheProvider {
    /// The name under which records are kept.
    public var name: String
    /// What tells the records of the provider apart.
    public var key: ProviderKey
    /// How long a record lasts.
    public var lifetime: EntryLifetime
    /// Whether a file that is nearly full may drop a record before its end.
    public var isExpirable: Bool
    /// More tags by which records can be invalidated.
    public var tags: [String]

    /// A provider.
    ///
    /// - Parameters:
    ///   - name: The name under which records are kept. It does not tell types apart: give each type of values its own.
    ///   - key: What tells the records of the provider apart.
    ///   - lifetime: How long a record lasts.
    ///   - isExpirable: Whether a file that is nearly full may drop a record before its end.
    ///   - tags: More tags by which records can be invalidated.
    public init(
        _ name: String,
        key: ProviderKey = .single,
        lifetime: EntryLifetime = .byPolicy,
        isExpirable: Bool = true,
        tags: [String] = []
    ) {
        self.name = name
        self.key = key
        self.lifetime = lifetime
        self.isExpirable = isExpirable
        self.tags = tags
    }
}
