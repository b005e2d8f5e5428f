extension InstanceProcess {
    /// The lines of a process's standard output.
    public struct Lines: AsyncSequence, Sendable {
        let buffer: LineBuffer

        /// Reads one line after the other.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let buffer: LineBuffer

            /// The next line.
            ///
            /// - Returns: The line, or `nil` after the last, or when the task is cancelled.
            public mutating func next() async -> String? {
                await buffer.next()
            }

            /// The next line.
            ///
            /// - Parameter actor: The actor that asks.
            /// - Returns: The line, or `nil` after the last, or when the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> String? {
                await buffer.next()
            }
        }

        /// Starts to read.
        ///
        /// - Returns: The iterator. What it does not read is left for others.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(buffer: buffer)
        }
    }
}
