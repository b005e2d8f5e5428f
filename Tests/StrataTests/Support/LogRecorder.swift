import Logging
import Strata

/// Takes down what is logged.
final class LogRecorder: Sendable {
    struct Line: Sendable, Equatable {
        var level: Logger.Level
        var text: String
    }

    private let recorded = Locked<[Line]>([])

    var lines: [Line] { recorded.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(recorder: self) }
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(recorder: LogRecorder) {
            self.recorder = recorder
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let parts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let text = ["\(event.message)"] + parts
            recorder.recorded.withLock { $0.append(Line(level: event.level, text: text.joined(separator: " "))) }
        }
    }
}
