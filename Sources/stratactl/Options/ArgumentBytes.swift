/// The arguments as the system passed them.
enum ArgumentBytes {
    /// Refuses arguments that are no UTF-8.
    ///
    /// As text they would be repaired, and a repaired key is another key.
    static func check() throws(Failure) {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
            guard unsafe String(validatingCString: argument) != nil else {
                throw Failure(.usage, "argument \(index) is not UTF-8; --escaped reads such keys as \\xHH")
            }
        }
    }
}
