#if Configuration
internal import Configuration
internal import Strata

/// Reads the settings of a section from a snapshot of the configuration.
struct SettingReader: Sendable {
    /// A value, in the first form in which it can be had.
    enum Raw: Hashable, Sendable {
        case text(String)
        case number(Double)
        case integer(Int)
        case flag(Bool)
        case list([String])
    }

    /// The forms in which a value is asked for.
    enum Kind {
        case text
        case number
        case integer
        case flag
        case list
    }

    private let snapshot: ConfigSnapshotReader
    /// The section, with a dot at its end; empty for that of the snapshot itself.
    let path: String
    /// The compressions that a configuration may name.
    let stages: [String: ByteStage]

    init(_ snapshot: ConfigSnapshotReader, path: String = "", stages: [String: ByteStage] = [:]) {
        self.snapshot = snapshot
        self.path = path
        self.stages = stages
    }

    /// The reader of a section in this one.
    ///
    /// A name is one part of a key, whatever is in it.
    func section(_ names: String...) -> SettingReader {
        SettingReader(
            snapshot.scoped(to: ConfigKey(names)),
            path: path + names.joined(separator: ".") + ".",
            stages: stages
        )
    }

    /// The value of a key; `nil` when there is none.
    ///
    /// - Parameters:
    ///   - key: The key in this section.
    ///   - kinds: The forms, in the order in which they are tried.
    ///   - isSecret: Whether no report of accesses may show the value.
    /// - Returns: The value.
    /// - Throws: ``ConfigurationError/Code/wrongForm`` for a value that has none of them.
    func raw(_ key: String, as kinds: [Kind], isSecret: Bool = false) throws(ConfigurationError) -> Raw? {
        for kind in kinds {
            do {
                return try value(ConfigKey(key), kind, isSecret)
            } catch {
                if Absence.isMeant(by: error) { return nil }
            }
        }
        throw failure(.wrongForm, key, "the value has another type")
    }

    private func value(_ key: ConfigKey, _ kind: Kind, _ isSecret: Bool) throws -> Raw {
        switch kind {
        case .text: .text(try snapshot.requiredString(forKey: key, isSecret: isSecret))
        case .number: .number(try snapshot.requiredDouble(forKey: key, isSecret: isSecret))
        case .integer: .integer(try snapshot.requiredInt(forKey: key, isSecret: isSecret))
        case .flag: .flag(try snapshot.requiredBool(forKey: key, isSecret: isSecret))
        case .list: .list(try snapshot.requiredStringArray(forKey: key, isSecret: isSecret))
        }
    }

    /// Whether any provider has a value, of whatever type.
    func has(_ key: String, isSecret: Bool = false) -> Bool {
        do {
            return try raw(key, as: [.text, .number, .integer, .flag, .list], isSecret: isSecret) != nil
        } catch {
            return true
        }
    }

    func failure(
        _ code: ConfigurationError.Code,
        _ key: String,
        _ message: String,
        cause: (any Error)? = nil
    ) -> ConfigurationError {
        ConfigurationError(code, path + key, message, cause: cause)
    }

    // MARK: Forms

    func text(_ key: String, isSecret: Bool = false) throws(ConfigurationError) -> String? {
        guard case .text(let text)? = try raw(key, as: [.text], isSecret: isSecret) else { return nil }
        guard !text.isEmpty else { throw failure(.wrongForm, key, "the value is empty") }
        return text
    }

    func duration(_ key: String) throws(ConfigurationError) -> Duration? {
        guard let raw = try raw(key, as: [.text, .number, .integer]) else { return nil }
        return try duration(raw, key)
    }

    /// A duration, or `none`, which is the inner `nil`.
    func durationOrNone(_ key: String) throws(ConfigurationError) -> Duration?? {
        guard let raw = try raw(key, as: [.text, .number, .integer]) else { return nil }
        return raw == .text(Form.none) ? .some(nil) : try duration(raw, key)
    }

    func duration(_ raw: Raw, _ key: String) throws(ConfigurationError) -> Duration {
        do throws(DurationText.Failure) {
            switch raw {
            case .text(let text): return try DurationText.read(text)
            case .number(let seconds): return try DurationText.read(seconds: seconds)
            case .integer(let seconds): return try DurationText.read(seconds: Double(seconds))
            case .flag, .list: throw .wrongForm
            }
        } catch {
            switch error {
            case .wrongForm:
                throw failure(.wrongForm, key, "not a duration: write 500ms, 2s, 5m, 3h, 1d or a number of seconds")
            case .outOfRange: throw failure(.outOfRange, key, "not a duration from 0 to a hundred years")
            }
        }
    }

    /// Two durations with three dots between them; the inner `nil` for `none`.
    func rangeOrNone(_ key: String) throws(ConfigurationError) -> ClosedRange<Duration>?? {
        guard let text = try text(key) else { return nil }
        guard text != Form.none else { return .some(nil) }
        let dots = text.firstRange(of: "...")
        guard let dots else { throw failure(.wrongForm, key, "not two durations: write 100ms...5s") }
        let bounds = (
            try duration(.text(String(text[..<dots.lowerBound])), key),
            try duration(.text(String(text[dots.upperBound...])), key)
        )
        guard bounds.0 <= bounds.1 else { throw failure(.outOfRange, key, "the first duration is the longer one") }
        return bounds.0...bounds.1
    }

    func integer(_ key: String) throws(ConfigurationError) -> Int? {
        guard let raw = try raw(key, as: [.integer, .text]) else { return nil }
        switch raw {
        case .integer(let number): return number
        case .text(let text):
            if let number = Int(text) { return number }
            fallthrough
        default: throw failure(.wrongForm, key, "not a whole number")
        }
    }

    func size(_ key: String) throws(ConfigurationError) -> Int? {
        guard let raw = try raw(key, as: [.text, .integer]) else { return nil }
        switch raw {
        case .integer(let bytes): return bytes
        case .text(let text):
            if let bytes = SizeText.read(text) { return bytes }
            fallthrough
        default: throw failure(.wrongForm, key, "not a size: write a number of bytes, or 64KiB, 16MiB, 1GiB")
        }
    }

    func number(_ key: String) throws(ConfigurationError) -> Double? {
        guard let raw = try raw(key, as: [.number, .integer, .text]) else { return nil }
        switch raw {
        case .number(let number) where number.isFinite: return number
        case .integer(let number): return Double(number)
        case .text(let text):
            if let number = Double(text), number.isFinite { return number }
            fallthrough
        default: throw failure(.wrongForm, key, "not a number")
        }
    }

    func flag(_ key: String) throws(ConfigurationError) -> Bool? {
        guard let raw = try raw(key, as: [.flag, .text]) else { return nil }
        switch raw {
        case .flag(let flag): return flag
        case .text(let text):
            if let flag = Bool(text) { return flag }
            fallthrough
        default: throw failure(.wrongForm, key, "neither true nor false")
        }
    }

    /// A list, or a text with commas between the parts.
    func list(_ key: String) throws(ConfigurationError) -> [String]? {
        guard let raw = try raw(key, as: [.list, .text]) else { return nil }
        switch raw {
        case .list(let list): return list
        case .text(let text): return text.split(separator: ",").map { String($0.trimmingPrefix { $0 == " " }) }
        default: throw failure(.wrongForm, key, "not a list")
        }
    }

    /// One of several words.
    func choice(_ key: String, of words: [String]) throws(ConfigurationError) -> String? {
        guard let word = try text(key) else { return nil }
        guard words.contains(word) else {
            throw failure(.unknownValue, key, "not one of \(words.joined(separator: ", "))")
        }
        return word
    }
}
#endif
