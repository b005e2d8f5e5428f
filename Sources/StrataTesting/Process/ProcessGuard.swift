/// Ends what this process started, and removes its folders, when this process ends in any way, `kill -9` included.
///
/// One small `/bin/sh`, started with the first use, reads from a socket whose other end only this process holds. It is
/// told of every process group and folder and forgets those that were ended in good order. When the socket reports its
/// end, this process is gone, and what is still on the list goes too. That needs no help from the dying process, works
/// on Linux and macOS, and unlike PR_SET_PDEATHSIG does not depend on which *thread* started the child.
///
/// A child reports itself: ``GuardedProcess`` starts it through a shell that writes its own process id to the socket
/// and then becomes the program. So there is no moment in which a process runs and the guard does not know it.
final class ProcessGuard: Sendable {
    private static let started = Result { try ProcessGuard() }

    /// The guard of this process.
    static func current() throws -> ProcessGuard {
        try started.get()
    }

    // It ignores the signals of a terminal, so that it outlives the run it guards. Process groups are killed as a
    // whole; a group id is not given away again before the last member is gone and its leader was collected, and it is
    // taken off the list before that. Removing is repeated: a process being killed may still be inside a call that
    // makes a file.
    private static let script = #"""
        trap '' HUP INT QUIT TERM
        PATH=/bin:/usr/bin
        cd /
        set -f
        newline='
        '
        groups=' '
        folders=$newline
        while IFS= read -r line; do
            subject=${line#* }
            case $line in
            '+group '*)
                groups=$groups"$subject " ;;
            '-group '*)
                case $groups in *" $subject "*)
                    groups=${groups%%" $subject "*}' '${groups#*" $subject "} ;;
                esac ;;
            '+folder '*)
                folders=$folders$subject$newline ;;
            '-folder '*)
                case $folders in *"$newline$subject$newline"*)
                    folders=${folders%%"$newline$subject$newline"*}$newline${folders#*"$newline$subject$newline"} ;;
                esac ;;
            esac
        done
        for group in $groups; do
            kill -KILL "-$group"
        done
        IFS=$newline
        for folder in $folders; do
            for attempt in 1 2 3 4 5; do
                rm -rf "$folder" && break
                sleep 0.1
            done
        done
        """#

    private let socket: StreamSocket
    /// The process id of the shell.
    let pid: Int32

    private init() throws {
        let (mine, its) = try Descriptor.pair()
        let spawn = Spawn(
            executable: "/bin/sh",
            arguments: ["-c", Self.script, "strata-process-guard"],
            environment: [:],
            descriptors: [its.number, nil, nil]
        )
        pid = try spawn.start()
        socket = StreamSocket(mine, isTCP: false)
    }

    /// The socket, for a child that reports itself.
    var number: Int32 { socket.number }

    /// Takes a group off the list.
    ///
    /// To be called before its leader is collected, while the id cannot belong to others.
    func release(group: Int32) {
        tell("-group \(group)")
    }

    func protect(folder: String) throws {
        guard tell("+folder \(folder)") else {
            throw HarnessError(.launchFailed, "the guard process \(pid) is gone")
        }
    }

    func release(folder: String) {
        tell("-folder \(folder)")
    }

    // Short lines: one write each, never mixed with those of children that report themselves.
    @discardableResult
    private func tell(_ line: String) -> Bool {
        let bytes = Array((line + "\n").utf8)
        guard case .bytes(bytes.count) = socket.send(bytes[...]) else { return false }
        return true
    }
}
