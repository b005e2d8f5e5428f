internal import CFuzzer

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What is fuzzed; `FUZZ_TARGET` names it, because libFuzzer hands its own arguments, and no others, to its children.
enum FuzzTarget: String, CaseIterable {
    /// Bytes from a socket, in pieces.
    case replies
    /// What lies under names, in names and in messages.
    case records
    /// What lies under value keys.
    case envelopes
    /// What a configuration names a server by.
    case urls
    /// Calls of a client whose server answers as the input says.
    case answers

    func run(_ bytes: [UInt8]) {
        switch self {
        case .replies: fuzzReplies(bytes)
        case .records: fuzzRecords(bytes)
        case .envelopes: fuzzEnvelopes(bytes)
        case .urls: fuzzURLs(bytes)
        case .answers: fuzzAnswers(bytes)
        }
    }

    static let current: FuzzTarget = {
        let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            let names = allCases.map(\.rawValue).joined(separator: ", ")
            print("fuzz: FUZZ_TARGET is none of \(names)")
            exit(2)
        }
        return target
    }()
}

@main
enum Fuzz {
    static func main() {
        _ = FuzzTarget.current
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) } + [nil]
        var count = CInt(arguments.count - 1)
        arguments.withUnsafeMutableBufferPointer { buffer in
            var base = buffer.baseAddress
            let status = LLVMFuzzerRunDriver(&count, &base) { data, size in
                FuzzTarget.current.run(Array(UnsafeBufferPointer(start: data, count: size)))
                return 0
            }
            exit(status)
        }
    }
}

/// What must hold of any input; the run ends where it does not.
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
    guard !condition else { return }
    fatalError(what())
}
