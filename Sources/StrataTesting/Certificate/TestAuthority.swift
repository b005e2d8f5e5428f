/// An authority that signs certificates for tests, in a folder of its own, by the program `openssl`.
///
/// ```swift
/// let authority = try await TestAuthority.make()
/// let certificate = try await authority.issue()
/// let tls = RedisServer.TLS(certificate, authorities: authority.certificate)
/// let server = try await RedisServer.start(.init(tls: tls))
/// ```
///
/// It and all files of its certificates are removed with the last reference to it.
public final class TestAuthority: Sendable {
    /// When a certificate is valid.
    public enum Validity: Sendable, Hashable {
        /// Now, and for decades.
        case current
        /// In January 2020 only.
        case expired
        /// From 2098 on.
        case later

        var dates: [String] {
            switch self {
            case .current: ["-startdate", "20200101000000Z", "-enddate", "20991231235959Z"]
            case .expired: ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"]
            case .later: ["-startdate", "20980101000000Z", "-enddate", "20991231235959Z"]
            }
        }
    }

    /// The hosts of a certificate for a server on this machine.
    public static let thisMachine = ["localhost", "127.0.0.1", "::1"]

    private static let configuration = """
        [ca]
        default_ca = own
        [own]
        new_certs_dir = .
        database = index.txt
        rand_serial = yes
        default_md = sha256
        policy = any
        unique_subject = no
        [any]
        commonName = supplied
        [req]
        distinguished_name = none
        [none]
        [authority]
        basicConstraints = critical,CA:true
        keyUsage = critical,keyCertSign,cRLSign
        subjectKeyIdentifier = hash

        """

    /// The file with the authority's own certificate.
    public var certificate: String { "\(folder.path)/ca.pem" }

    private let folder: TemporaryFolder
    private let executable: String
    /// How many certificates there are; held while `openssl` works, whose list of them is a file.
    private let issued = Monitor(0)

    private init() throws {
        executable = try ExecutableSearch.path(of: "openssl")
        folder = try TemporaryFolder()
    }

    deinit {
        try? BlockingThread.start { [folder] in try? folder.remove() }
    }

    /// Makes an authority.
    ///
    /// - Parameter name: The name of the authority.
    /// - Returns: The authority.
    /// - Throws: ``HarnessError`` when there is no program `openssl`, or it fails; then with its last words.
    public static func make(name: String = "Strata tests") async throws -> TestAuthority {
        try await BlockingThread.run { _ in
            let authority = try TestAuthority()
            try authority.folder.write(configuration, to: "ca.cnf")
            try authority.folder.write("", to: "index.txt")
            try authority.selfSigned("ca", subject: name, ["-extensions", "authority"])
            return authority
        }
    }

    /// Signs a certificate.
    ///
    /// - Parameters:
    ///   - hosts: The names and addresses that it is for.
    ///   - validity: When it is valid.
    /// - Returns: The files of the certificate and its key.
    /// - Throws: ``HarnessError`` when `openssl` fails.
    public func issue(
        for hosts: [String] = thisMachine,
        validity: Validity = .current
    ) async throws -> TestCertificate {
        try await BlockingThread.run { [self] _ in
            try issued.withLock { issued throws in
                issued += 1
                let name = "c\(issued)"
                try folder.write(
                    "subjectAltName = \(Self.alternativeNames(hosts))\nbasicConstraints = CA:false\n",
                    to: "\(name).ext"
                )
                try run(["req", "-new", "-subj", "/CN=\(name)", "-out", "\(name).csr"] + Self.newKey(name))
                try run(
                    ["ca", "-batch", "-notext", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"]
                        + ["-in", "\(name).csr", "-out", "\(name).pem", "-extfile", "\(name).ext"] + validity.dates
                )
                return files(name)
            }
        }
    }

    /// Makes a certificate that no authority has signed.
    ///
    /// - Parameter hosts: The names and addresses that it is for.
    /// - Returns: The files of the certificate and its key.
    /// - Throws: ``HarnessError`` when `openssl` fails.
    public func selfSigned(for hosts: [String] = thisMachine) async throws -> TestCertificate {
        try await BlockingThread.run { [self] _ in
            try issued.withLock { issued throws in
                issued += 1
                try selfSigned(
                    "c\(issued)",
                    subject: "alone",
                    ["-addext", "subjectAltName=\(Self.alternativeNames(hosts))"]
                )
                return files("c\(issued)")
            }
        }
    }

    private func selfSigned(_ name: String, subject: String, _ extensions: [String]) throws {
        try run(
            ["req", "-x509", "-days", "30", "-subj", "/CN=\(subject)", "-out", "\(name).pem"]
                + Self.newKey(name) + extensions
        )
    }

    private func files(_ name: String) -> TestCertificate {
        TestCertificate(
            certificate: "\(folder.path)/\(name).pem",
            key: "\(folder.path)/\(name).key",
            authority: self
        )
    }

    private static func newKey(_ name: String) -> [String] {
        ["-config", "ca.cnf", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            + ["-keyout", "\(name).key"]
    }

    private static func alternativeNames(_ hosts: [String]) -> String {
        hosts.map { host in
            let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
            return isAddress ? "IP:\(host)" : "DNS:\(host)"
        }
        .joined(separator: ",")
    }

    /// Runs `openssl` in the folder to its end.
    ///
    /// Blocks.
    private func run(_ arguments: [String]) throws {
        let log = try folder.appending(to: "openssl.log")
        let process = try GuardedProcess(
            executable,
            arguments,
            environment: [:],
            folder: folder.path,
            descriptors: (nil, log.number, log.number)
        )
        let status: ExitStatus
        do {
            status = try BlockingThread.poll(for: "openssl", until: .now + .seconds(20)) { process.exitStatus }
        } catch {
            process.terminateAtOnce()
            throw error
        }
        guard status.isSuccess else {
            throw HarnessError(
                .exitedEarly,
                "openssl \(arguments.first ?? "") \(status)",
                logTail: folder.tail(of: "openssl.log", lines: 5)
            )
        }
    }
}
