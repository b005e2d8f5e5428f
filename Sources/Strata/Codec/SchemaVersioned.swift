/// A type of values whose stored form has a number.
///
/// Raise it whenever a change of the type makes what older releases have stored unreadable, or means something else.
///
/// ```swift
/// struct Product: Codable, SchemaVersioned {
///     static let schemaVersion: UInt32 = 2          // 1 had the price in euros
///     var name: String
///     var cents: Int
/// }
/// ```
///
/// What is stored under another number is a miss. Under a lower one it is replaced by what is fetched; under a higher
/// one it stays where it is: while two releases run side by side, the older one does not undo what the newer one has
/// stored. With ``Codec/migrating(_:)`` the newer release can make use of the older one's values.
///
/// A list, a dictionary or an optional of such values has the number of its values.
public protocol SchemaVersioned {
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
