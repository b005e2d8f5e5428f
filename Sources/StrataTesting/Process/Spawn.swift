#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
@unsafe @preconcurrency internal import Glibc
#elseif canImport(Musl)
@unsafe @preconcurrency internal import Musl
#endif

/// A thin layer over `posix_spawn`.
///
/// Every child leads a process group of its own, so that Ctrl-C in the terminal of the test run reaches the test
/// process alone, and a child can be ended together with what it forked. It begins with default signal dispositions, an
/// empty signal mask, and no descriptor but those named.
struct Spawn {
    private typealias AddCloseFrom = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32

    /// The absolute path of the executable.
    var executable: String
    /// The arguments behind the name of the executable.
    var arguments: [String]
    /// The whole environment.
    var environment: [String: String]
    /// Descriptors of this process by their number in the child, counted from 0; `nil` stands for `/dev/null`.
    var descriptors: [Int32?]

    #if canImport(Darwin)
    private typealias Actions = posix_spawn_file_actions_t?
    private typealias Attributes = posix_spawnattr_t?
    #else
    private typealias Actions = posix_spawn_file_actions_t
    private typealias Attributes = posix_spawnattr_t
    #endif

    /// Starts the process and returns its id.
    func start() throws -> pid_t {
        #if canImport(Darwin)
        var actions: Actions = nil
        var attributes: Attributes = nil
        #else
        var actions = unsafe Actions()
        var attributes = Attributes()
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe Self.describe(descriptors, in: &actions)
        Self.describeChild(in: &attributes)

        var pid: pid_t = 0
        let status = unsafe withCStrings([executable] + arguments) { argv in
            unsafe withCStrings(environment.map { "\($0.key)=\($0.value)" }) { envp in
                unsafe posix_spawn(&pid, executable, &actions, &attributes, argv, envp)
            }
        }
        guard status == 0 else {
            throw HarnessError(.launchFailed, "\(executable): \(SystemCall.text(of: status))")
        }
        return pid
    }

    /// The environment of this process, changed: a value replaces or adds a variable, `nil` removes it.
    static func inheritedEnvironment(changing changes: [String: String?]) -> [String: String] {
        var environment: [String: String] = [:]
        #if canImport(Darwin)
        let first: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe _NSGetEnviron()?.pointee
        #else
        let first: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe environ
        #endif
        var next = unsafe first
        while let place = unsafe next, let line = unsafe place.pointee {
            let text = unsafe String(cString: line)
            if let equals = text.firstIndex(of: "=") {
                environment[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            unsafe next = place + 1
        }
        for (name, value) in changes {
            environment[name] = value
        }
        return environment
    }

    private static func describe(_ descriptors: [Int32?], in actions: inout Actions) {
        // In this order no source is overwritten before its turn, as long as 0, 1 and 2 are open in this process: a
        // source is then one of these at its own place, or no lower than any target.
        for (target, source) in descriptors.enumerated() {
            if let source {
                unsafe posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
            } else {
                unsafe posix_spawn_file_actions_addopen(&actions, Int32(target), "/dev/null", O_RDWR, 0)
            }
        }
        #if !canImport(Darwin)
        // What this process opened without close-on-exec is no business of the child.
        if let close = unsafe SystemCall.hidden(
            "posix_spawn_file_actions_addclosefrom_np",
            as: AddCloseFrom.self
        ) {
            _ = unsafe close(&actions, Int32(descriptors.count))
        }
        #endif
    }

    private static func describeChild(in attributes: inout Attributes) {
        var flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETSIGMASK)
        #if canImport(Darwin)
        flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
        #endif
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
    }

    private func withCStrings<Result>(
        _ strings: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = unsafe strings.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        defer {
            for index in unsafe pointers.indices {
                unsafe free(pointers[index])
            }
        }
        return unsafe pointers.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("the list ends with nil") }
            return unsafe body(base)
        }
    }
}
