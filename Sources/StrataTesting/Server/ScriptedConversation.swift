/// One connection of a ``ScriptedServer``, from accept to close.
///
/// Runs on a thread of its own.
struct ScriptedConversation: Sendable {
    private enum Ending: Error {
        case finished
    }

    private let core: ScriptedServerCore
    private let socket: StreamSocket
    private let number: Int
    private let behaviour: ScriptedServerCore.Behaviour

    init(core: ScriptedServerCore, socket: StreamSocket, number: Int, _ behaviour: ScriptedServerCore.Behaviour) {
        self.core = core
        self.socket = socket
        self.number = number
        self.behaviour = behaviour
    }

    func run() {
        // Every way out is an `Ending`; the socket closes with the last reference.
        _ = try? converse()
    }

    private func converse() throws {
        var unclaimed = 0
        switch behaviour {
        case .script(let steps):
            try perform(steps, &unclaimed)
            while true {
                _ = try read()
            }
        case .bytes(let response):
            while true {
                try perform(response(try read(), number), &unclaimed)
            }
        case .commands(let answer):
            var reader = CommandReader()
            while true {
                reader.append(try read())
                do {
                    while let command = try reader.next() {
                        try perform(answer(command, number), &unclaimed)
                    }
                } catch is HarnessError {
                    socket.reset()
                    throw Ending.finished
                }
            }
        }
    }

    private func perform(_ steps: [ScriptedServer.Step], _ unclaimed: inout Int) throws {
        for step in steps {
            switch step {
            case .send(let bytes):
                try send(bytes[...])
            case .trickle(let bytes, let pieceSize, let interval):
                var rest = bytes[...]
                while !rest.isEmpty {
                    let piece = rest.prefix(max(pieceSize, 1))
                    rest = rest.dropFirst(piece.count)
                    try send(piece)
                    if !rest.isEmpty { try pause(interval) }
                }
            case .receive(let count):
                while unclaimed < count {
                    unclaimed += try read().count
                }
                unclaimed -= count
            case .pause(let duration):
                try pause(duration)
            case .hang:
                while core.wait(for: socket.number, []) {}
                throw Ending.finished
            case .end:
                socket.endWriting()
            case .close:
                socket.discardArrived(upTo: 1 << 20)
                socket.endWriting()
                throw Ending.finished
            case .reset:
                socket.reset()
                throw Ending.finished
            }
        }
    }

    private func read() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            switch socket.receive(into: &buffer, limit: buffer.count) {
            case .bytes(let count):
                core.record(buffer[..<count], of: number)
                return Array(buffer[..<count])
            case .wouldBlock:
                guard core.wait(for: socket.number, .read) else { throw Ending.finished }
            case .ended, .failed:
                throw Ending.finished
            }
        }
    }

    private func send(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            switch socket.send(rest) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: guard core.wait(for: socket.number, .write) else { throw Ending.finished }
            case .ended, .failed: throw Ending.finished
            }
        }
    }

    private func pause(_ duration: Duration) throws {
        let deadline = ContinuousClock.now + min(max(duration, .zero), .seconds(86_400))
        while ContinuousClock.now < deadline {
            guard core.wait(for: socket.number, [], until: deadline) else { throw Ending.finished }
        }
    }
}
