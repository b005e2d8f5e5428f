/// The threads of a ``ScriptedServer``: one that accepts, and one for each connection.
final class ScriptedServerCore: Sendable {
    enum Behaviour: Sendable {
        case script([ScriptedServer.Step])
        case bytes(@Sendable ([UInt8], Int) -> [ScriptedServer.Step])
        case commands(@Sendable ([String], Int) -> [ScriptedServer.Step])
    }

    private struct State: Sendable {
        var snapshot = ScriptedServer.Snapshot()
        var threads = 0
    }

    private static let recordLimit = 64 << 10

    let place: ListeningPlace
    let waiters = ConditionQueue<ScriptedServer.Snapshot>(owner: "the server")
    private let behaviour: Behaviour
    private let state = Monitor(State())
    // Woken once and never cleared: every thread that polls it sees it.
    private let stopSignal: WakeSignal

    init(_ kind: TestEndpoint.Kind, _ behaviour: Behaviour) throws {
        self.behaviour = behaviour
        stopSignal = try WakeSignal()
        place = try ListeningPlace(kind)
        do {
            let listener = try place.listen()
            try startThread { $0.acceptAll(from: listener) }
        } catch {
            place.remove()
            throw error
        }
    }

    var snapshot: ScriptedServer.Snapshot { state.withLock { $0.snapshot } }

    func settle() {
        waiters.settle { snapshot }
    }

    /// Blocks until all threads have ended.
    func stop() {
        stopSignal.wake()
        state.wait(until: { $0.threads == 0 }, then: { _ in })
        waiters.finish()
        place.remove()
    }

    /// Waits for a socket; `false` when the server was stopped.
    func wait(for number: Int32, _ interest: Readiness.Interest, until deadline: ContinuousClock.Instant? = nil) -> Bool
    {
        var readiness = Readiness()
        readiness.add(stopSignal.number, .read)
        readiness.add(number, interest)
        readiness.wait(until: deadline)
        return !readiness.canRead(0)
    }

    func record(_ bytes: ArraySlice<UInt8>, of connection: Int) {
        state.withLock { state in
            state.snapshot.receivedCount += bytes.count
            let recorded = state.snapshot.received[connection]?.count ?? 0
            state.snapshot.received[connection, default: []] += bytes.prefix(max(Self.recordLimit - recorded, 0))
        }
        settle()
    }

    private func startThread(_ body: @escaping @Sendable (ScriptedServerCore) -> Void) throws {
        state.withLock { $0.threads += 1 }
        // Taken out on the thread, so that what it holds, its sockets among that, is closed before it counts as ended.
        let work = Monitor<(@Sendable (ScriptedServerCore) -> Void)?>(body)
        do {
            try BlockingThread.start { [self] in
                work.withLock { $0.take() }?(self)
                state.change { $0.threads -= 1 }
            }
        } catch {
            state.change { $0.threads -= 1 }
            throw error
        }
    }

    private func acceptAll(from listener: ListeningSocket) {
        while wait(for: listener.number, .read) {
            guard let socket = listener.accept() else {
                // No descriptors left, say: no reason to spin.
                BlockingThread.pause(.milliseconds(10))
                continue
            }
            let number = state.withLock { state in
                state.snapshot.accepted += 1
                state.snapshot.open += 1
                return state.snapshot.accepted - 1
            }
            settle()
            let conversation = ScriptedConversation(core: self, socket: socket, number: number, behaviour)
            let isStarted =
                (try? startThread { core in
                    conversation.run()
                    core.state.withLock { $0.snapshot.open -= 1 }
                    core.settle()
                }) != nil
            if !isStarted { state.withLock { $0.snapshot.open -= 1 } }
        }
    }
}
