/// A question to all instances of a keyspace, as a message on its channel; docs/internals/wire-format.md has its form.
package enum FleetQuestion: Sendable, Hashable {
    /// What the instance's memory holds of a user's key.
    case key([UInt8])
    /// Its figures, and so many of the hottest keys in its memory.
    case figures(hottest: Int)
    /// Which versions its memory holds of users' keys, each beside the one that Redis holds.
    case versions([VersionQuestion])
    /// So many of the hottest keys in the memory of some instances; the others leave it unanswered.
    case hottest(Int, of: [QuestionNumber])
    /// What comes of reading users' keys through one instance's cache.
    case warm(WarmQuestion)

    /// The first byte of the message.
    static let letter = UInt8(ascii: "q")
    /// Longer keys are not asked for.
    package static let longestKey = 4096
    /// How many keys an instance names at most beside its figures.
    package static let mostKeys = 50
    /// How many instances are asked for their hottest keys at most.
    package static let mostNamed = 8

    /// The message with this number.
    func message(_ number: QuestionNumber) -> [UInt8] {
        let rest: [UInt8] =
            switch self {
            case .key(let key): [UInt8(ascii: "k")] + key
            case .figures(let hottest): Array("f\(hottest)".utf8)
            case .versions(let keys): [UInt8(ascii: "v")] + keys.flatMap(\.bytes)
            case .hottest(let most, let instances):
                Array("h\(most):\(instances.map(\.text).joined())".utf8)
            case .warm(let question): [UInt8(ascii: "w")] + question.bytes
            }
        return [Self.letter] + Array(number.text.utf8) + rest
    }

    /// Reads a message; `nil` for other bytes, which any user who may publish can send.
    static func read(_ message: [UInt8]) -> (question: FleetQuestion, number: QuestionNumber)? {
        guard message.first == letter, let number = QuestionNumber(message.dropFirst().prefix(QuestionNumber.length)),
            message.count > 1 + QuestionNumber.length
        else { return nil }
        let rest = message.dropFirst(2 + QuestionNumber.length)
        switch message[1 + QuestionNumber.length] {
        case UInt8(ascii: "k"):
            guard rest.count <= longestKey else { return nil }
            return (.key(Array(rest)), number)
        case UInt8(ascii: "f"):
            guard rest.count <= 9, let hottest = Int(String(decoding: rest, as: UTF8.self)), hottest >= 0 else {
                return nil
            }
            return (.figures(hottest: min(hottest, mostKeys)), number)
        case UInt8(ascii: "v"):
            guard let keys = VersionQuestion.read(rest) else { return nil }
            return (.versions(keys), number)
        case UInt8(ascii: "h"): return readHottest(rest).map { ($0, number) }
        case UInt8(ascii: "w"):
            guard let question = WarmQuestion(rest) else { return nil }
            return (.warm(question), number)
        default: return nil
        }
    }

    private static func readHottest(_ bytes: ArraySlice<UInt8>) -> FleetQuestion? {
        let digits = bytes.prefix { $0 != UInt8(ascii: ":") }
        let names = bytes.dropFirst(digits.count + 1)
        guard digits.count <= 9, let most = Int(String(decoding: digits, as: UTF8.self)), most >= 0, !names.isEmpty,
            names.count <= mostNamed * QuestionNumber.length, names.count.isMultiple(of: QuestionNumber.length)
        else { return nil }
        var instances: [QuestionNumber] = []
        for start in stride(from: names.startIndex, to: names.endIndex, by: QuestionNumber.length) {
            guard let instance = QuestionNumber(names[start..<start + QuestionNumber.length]) else { return nil }
            instances.append(instance)
        }
        return .hottest(min(most, HottestKeys.mostKeys), of: instances)
    }

    /// Whether an instance with this number is asked.
    func isMeant(for instance: QuestionNumber) -> Bool {
        switch self {
        case .hottest(_, let instances): instances.contains(instance)
        case .warm(let question): question.instance == instance
        case .key, .figures, .versions: true
        }
    }
}

/// The number of a question or an instance: sixteen hexadecimal digits at random.
///
/// Names in Redis are made of it, so nothing else is accepted.
package struct QuestionNumber: Sendable, Hashable {
    static let length = 16

    let text: String

    init() {
        let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
        text = String(repeating: "0", count: Self.length - digits.count) + digits
    }

    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length, bytes.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
    }
}
