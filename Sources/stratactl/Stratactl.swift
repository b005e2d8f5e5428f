import ArgumentParser
import StrataRedis

/// The command line: shows a cache in Redis, and removes entries from it.
@main
struct Stratactl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stratactl",
        abstract: "Inspects a Strata cache in Redis, and removes what you tell it to.",
        discussion: """
            Keys, tags and values are shown with control characters escaped, so nothing in them can act on the terminal. \
            Values are shown only on request. Keys are found with SCAN, never with a command that blocks Redis. \
            Without --yes, a command that removes something only shows what it would touch.

            A password comes from --password-file, the passwordFile of a context, STRATA_REDIS_PASSWORD or the address in \
            STRATA_REDIS_URL; the first of them counts. A password in the address of --url or of a context comes \
            before STRATA_REDIS_PASSWORD. There is no option for the password itself, because every user of a machine \
            can read the arguments of a program.

            Put -- before a key or keyspace that begins with a hyphen.

            EXIT STATUS:
              0   done
              1   failed: server unreachable, login refused, an error reply;
                  or `doctor` has warnings, or `acl --check` has found a
                  missing rule, or `verify` an inconsistency, or `warm` a
                  key that could not be read
              2   nothing was removed, invalidated or read: --yes is missing
              3   there is no such key, or no such keyspace
              64  the arguments cannot be used
            """,
        version: "stratactl \(version), hiredis \(HiredisVersion.current)",
        subcommands: [
            PingCommand.self, KeyspacesCommand.self, KeysCommand.self, GetCommand.self, TimeToLiveCommand.self,
            LeasesCommand.self, WhyCommand.self, TagsCommand.self, SizesCommand.self, MemoryCommand.self,
            DoctorCommand.self, RemoveCommand.self, ClearCommand.self, InvalidateCommand.self, SweepCommand.self,
            WarmCommand.self, InstancesCommand.self, WatchCommand.self, TopCommand.self, VerifyCommand.self,
            BenchCommand.self, AccessCommand.self, ConfigCommand.self,
        ] + servers
    )

    /// What takes a library of its own, behind a trait.
    private static var servers: [any ParsableCommand.Type] {
        #if Dashboard
        [DashboardCommand.self]
        #else
        []
        #endif
    }

    /// The release that the program belongs to.
    static let version = StrataVersion.current

    static func main() async {
        do {
            try ArgumentBytes.check()
            try CommandName.check(CommandLine.arguments.dropFirst())
            var command = try await asyncParseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            if let message = failure.message { StandardError.line("stratactl: \(message)") }
            exit(withError: ExitCode(failure.status.rawValue))
        } catch let error as RedisError {
            StandardError.line("stratactl: \(error)")
            exit(withError: ExitCode(Failure.Status.failed.rawValue))
        } catch {
            endParsing(with: error)
        }
    }

    /// Whether a shell has asked: for a script that completes words, or for the words.
    ///
    /// That is the program's own text, and names without anything that acts on a terminal.
    private static var isForShell: Bool {
        CommandLine.arguments.dropFirst().first
            .map {
                $0.hasPrefix("--generate-completion-script") || $0 == "---completion"
            } ?? false
    }

    /// Shows the parser's own message: help, or what is wrong with the arguments.
    ///
    /// It quotes arguments, and those may be keys that came out of Redis through `xargs`.
    private static func endParsing(with error: any Error) -> Never {
        let status = exitCode(for: error)
        if isForShell, status.isSuccess {
            StandardOutput.bytes(Array((fullMessage(for: error) + "\n").utf8))
            exit(withError: status)
        }
        let lines = fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if status.isSuccess { StandardOutput.lines(lines) } else { for line in lines { StandardError.line(line) } }
        exit(withError: status)
    }
}
