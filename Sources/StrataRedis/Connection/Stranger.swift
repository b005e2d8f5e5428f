/// What is no Redis server, told by the first bytes that it sends.
enum Stranger: Sendable, Equatable {
    case http
    case ssh

    init?(_ bytes: UnsafeRawBufferPointer) {
        if bytes.starts(with: "HTTP/".utf8) || bytes.starts(with: "<!DO".utf8) || bytes.starts(with: "<htm".utf8) {
            self = .http
        } else if bytes.starts(with: "SSH-".utf8) {
            self = .ssh
        } else {
            return nil
        }
    }

    var message: String {
        switch self {
        case .http: "an HTTP server answers there, not a Redis server"
        case .ssh: "an SSH server answers there, not a Redis server"
        }
    }
}
