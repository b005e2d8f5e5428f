/// Why the program ends without having done what it was asked for.
struct Failure: Error {
    /// The exit status, as the help text lists them.
    enum Status: Int32 {
        case failed = 1
        case refused = 2
        case notFound = 3
        /// `EX_USAGE` of `<sysexits.h>`, which the argument parser uses as well.
        case usage = 64
    }

    let status: Status
    /// One line for the standard error output; `nil` when all was said.
    let message: String?

    init(_ status: Status, _ message: String?) {
        self.status = status
        self.message = message
    }
}
