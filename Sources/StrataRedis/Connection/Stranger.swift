/// What is no Redis server, told by the first bytes that it sends.
enum Stranger: Sendable, Equatable {
    case http
    case tls
    case ssh

    init?(_ bytes: UnsafeRawBufferPointer) {
        if bytes.starts(with: "HTTP/".utf8) || bytes.starts(with: "<!DO".utf8) || bytes.starts(with: "<htm".utf8) {
            self = .http
        } else if bytes.count > 2, (0x14...0x17).contains(bytes[0]), bytes[1] == 3 {
            // A record of TLS: its kind, and a version from 3.0 on. To a plain client it is an alert.
            self = .tls
        } else if bytes.starts(with: "SSH-".utf8) {
            self = .ssh
        } else {
            return nil
        }
    }

    var message: String {
        switch self {
        case .http: "an HTTP server answers there, and no Redis server"
        case .tls: "the port speaks TLS"
        case .ssh: "an SSH server answers there, and no Redis server"
        }
    }
}
