/// What a fleet did in one run: the events of all its processes.
public struct History: Sendable {
    /// The run that all files belong to.
    public let run: VersionedRun

    private enum Store: Sendable {
        case files([HistoryFile])
        case events([HistoryEvent])
    }

    private let store: Store

    /// Opens the files of a run's processes, also those that were killed.
    ///
    /// Only the headers are read; the check goes over the events in passes, so a history need not fit into memory.
    ///
    /// - Parameter files: The paths, at least one.
    /// - Throws: ``CheckerError`` with `fileUnavailable` or `malformedFile` for a file that is no history,
    ///   `differentRuns` if they do not belong together, `invalidArgument` if there are none.
    public init(files: [String]) throws(CheckerError) {
        var opened: [HistoryFile] = []
        for path in files {
            opened.append(try HistoryFile(path))
        }
        guard let first = opened.first else {
            throw CheckerError(.invalidArgument, "a history has at least one file")
        }
        for other in opened where other.run != first.run {
            throw CheckerError(.differentRuns, "\(first.path) and \(other.path) are not of the same run")
        }
        self.run = first.run
        self.store = .files(opened)
    }

    /// A history made up of events in memory, their instance numbers unique in the fleet.
    package init(run: VersionedRun, events: [HistoryEvent]) {
        self.run = run
        self.store = .events(events)
    }

    /// All events at once.
    package func events() throws(CheckerError) -> [HistoryEvent] {
        var events: [HistoryEvent] = []
        _ = try visit { events.append($0) }
        return events
    }

    /// What a pass over all events found beside the events.
    struct Pass {
        /// The instances' names, by the number that their events carry; without one they go by the number.
        var instances: [String] = []
        var instanceCount = 0
        var dropped: UInt64 = 0
        var lost: UInt64 = 0
        var torn: UInt64 = 0
        var unreadable: UInt64 = 0
    }

    /// Goes over all events, each instance under a number of its own.
    ///
    /// The numbers are the same in every pass.
    func visit(_ body: (HistoryEvent) -> Void) throws(CheckerError) -> Pass {
        var pass = Pass()
        switch store {
        case .events(let events):
            var seen: Set<UInt32> = []
            for event in events {
                if event.kind != .fault { seen.insert(event.instance) }
                body(event)
            }
            pass.instanceCount = seen.count
        case .files(let files):
            for file in files {
                var numbers: [UInt32?] = Array(repeating: nil, count: 1 << 16)
                let damage = try file.visit { event in
                    guard event.isOfInstance else { return body(event) }
                    var event = event
                    let own = Int(event.instance)
                    if let number = numbers[own] {
                        event.instance = number
                    } else {
                        event.instance = UInt32(pass.instances.count)
                        numbers[own] = event.instance
                        pass.instances.append("\(own) (process \(file.process))")
                    }
                    body(event)
                }
                pass.instanceCount = pass.instances.count
                pass.dropped += file.dropped
                pass.lost += file.lost
                pass.torn += damage.torn
                pass.unreadable += damage.unreadable
            }
        }
        return pass
    }
}
