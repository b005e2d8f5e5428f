@testable import StrataRedis

/// A URL becomes a configuration or an error that does not quote it.
func fuzzURLs(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do {
        let configuration = try RedisConfiguration(url: text)
        try configuration.validate()
        _ = configuration.endpoint.description
    } catch let error as RedisError {
        require(error.code == .invalidConfiguration, "\(error) is another error")
        // Longer than any message, so that it is not there by chance.
        if bytes.count > 120 { require(!error.description.contains(text), "the error quotes the URL") }
    } catch {
        fatalError("\(error) is no RedisError")
    }
}
