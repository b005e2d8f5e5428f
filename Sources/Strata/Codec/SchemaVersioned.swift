/// A type of values whose stored form has a number.
///
/// Raise the number whenever a change of the type makes the stored values of older releases unreadable, or changes
/// their meaning.
///
/// ```swift
/// struct Product: Codable, Sendable, SchemaVersioned {
///     static let schemaVersion: UInt32 = 2  // 1 had the price in euros
///     var name: String
///     var cents: Int
/// }
/// ```
///
/// A value with another number is a miss. One with a lower number is replaced by the next fetch; one with a higher
/// number stays where it is: while two releases run side by side, a fetch by the older one does not undo the writes of
/// the newer one. A `set` replaces whatever is there. With ``Codec/migrating(_:)`` the newer release can use the older
/// one's values.
///
/// A list, a dictionary or an optional of such values has the number of its values.
public protocol SchemaVersioned: SendableMetatype {
    /// The number of the stored form.
    static var schemaVersion: UInt32 { get }
}

extension Array: SchemaVersioned where Element: SchemaVersioned {
    /// That of the elements.
    public static var schemaVersion: UInt32 { Element.schemaVersion }
}

extension Dictionary: SchemaVersioned where Value: SchemaVersioned {
    /// That of the values.
    public static var schemaVersion: UInt32 { Value.schemaVersion }
}

extension Optional: SchemaVersioned where Wrapped: SchemaVersioned {
    /// That of the value.
    public static var schemaVersion: UInt32 { Wrapped.schemaVersion }
}
