package import Logging
internal import Strata

/// Takes down what is logged.
package final class LogRecorder: Sendable {
    package struct Line: Sendable, Equatable {
        package var level: Logger.Level
        package var text: String

        package init(level: Logger.Level, text: String) {
            self.level = level
            self.text = text
        }
    }

    private let recorded = Locked<[Line]>([])

    package init() {}

    package var lines: [Line] { recorded.withLock { $0 } }

    package var logger: Logger {
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
