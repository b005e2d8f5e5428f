/// The files of a certificate and its key, in PEM.
public struct TestCertificate: Sendable {
    /// The file of the certificate.
    public let certificate: String
    /// The file of its key.
    public let key: String
    /// Whose folder the files lie in: it stays as long as they are used.
    let authority: TestAuthority
}
