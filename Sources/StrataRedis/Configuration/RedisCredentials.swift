/// Who logs in: a user and a password, neither of which is ever printed.
public struct RedisCredentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The ACL user; `nil` means the server's default user.
    public var username: String?
    /// The password.
    public var password: Secret

    /// A user and a password.
    public init(username: String? = nil, password: Secret) {
        self.username = username
        self.password = password
    }

    /// A fixed text.
    public var description: String { "<credentials>" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension RedisCredentials {
    /// `AUTH` with these.
    func encodeLogin(into writer: inout CommandWriter) {
        writer.begin(username == nil ? 2 : 3)
        writer.argument("AUTH" as StaticString)
        if let username { writer.argument(username) }
        writer.argument(password.text)
    }
}
