import Foundation

/// What the demonstration says to an instance: one JSON object a line.
enum Order: Codable {
    /// Runs the load: so many tasks, each with so many requests.
    case run(tasks: Int, requests: Int, rate: Int, seed: UInt64)
    /// Asks for one document.
    case ask(path: String)
    /// Removes one document from the cache.
    case remove(path: String)
}

/// What an instance answers.
enum Answer: Codable {
    /// The instance is up and knows its documents.
    case ready
    /// So many requests are done.
    case progress(Int)
    case report(InstanceReport)
    case document(DocumentSummary?)
    case removed
    case failed(String)
}

/// What one instance has seen while it ran the load.
struct InstanceReport: Codable {
    /// Requests by where they were answered.
    var requests: [String: Int] = [:]
    /// How often the source was asked, by document.
    var fetches: [String: Int] = [:]
    /// Requests that waited for another task or process.
    var waits = 0
    /// Requests that failed.
    var errors: [String] = []
    /// Documents whose value was not what the file holds.
    var wrong: [String] = []
    /// Latencies in nanoseconds with their counts, by where the request was answered.
    var latencies: [String: [UInt64: Int]] = [:]
}

enum Line {
    static func encode(_ message: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(message), as: UTF8.self)
    }

    static func decode<Message: Decodable>(_ line: String) throws -> Message {
        try JSONDecoder().decode(Message.self, from: Data(line.utf8))
    }
}
