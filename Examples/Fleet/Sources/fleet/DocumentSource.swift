import Dispatch
import Foundation

/// The source at the bottom of the cache: a folder of real files.
struct DocumentSource: Sendable {
    let folder: String

    /// Reads a file and describes it; `nil` when there is none.
    ///
    /// Reading blocks, so it happens on a queue of its own and not on the cooperative pool.
    func summary(of path: String) async throws -> DocumentSummary? {
        let file = folder + "/" + path
        return try await withCheckedThrowingContinuation { continuation in
            Self.queue.async {
                continuation.resume(
                    with: Result {
                        guard FileManager.default.fileExists(atPath: file) else { return nil }
                        let content = try Data(contentsOf: URL(fileURLWithPath: file))
                        return DocumentSummary(path: path, content: Array(content))
                    }
                )
            }
        }
    }

    private static let queue = DispatchQueue(label: "documents", attributes: .concurrent)
}
