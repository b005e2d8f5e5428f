#if Configuration
extension Setting {
    typealias Path<Value> = any WritableKeyPath<Target, Value> & Sendable

    /// A setting with a value of its own form.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - path: What it sets.
    ///   - form: How it is written.
    ///   - text: Writes it.
    ///   - read: Reads it; `nil` if it is not there.
    init<Value>(
        _ key: String,
        _ path: Path<Value>,
        _ form: Form,
        text: @escaping @Sendable (Value) -> String?,
        read: @escaping @Sendable (SettingReader, String) throws(ConfigurationError) -> Value?
    ) {
        self.init(
            key: key,
            form: form,
            text: { text($0[keyPath: path]) },
            read: { reader, target throws(ConfigurationError) in
                if let value = try read(reader, key) { target[keyPath: path] = value }
            },
            copy: { other, target in target[keyPath: path] = other[keyPath: path] }
        )
    }

    /// Whether zero is allowed.
    enum Least: Sendable {
        case zero
        case aboveZero

        func check(_ duration: Duration, _ reader: SettingReader, _ key: String) throws(ConfigurationError) {
            guard self == .aboveZero, duration <= .zero else { return }
            throw reader.failure(.outOfRange, key, "not above zero")
        }
    }

    static func duration(_ key: String, _ path: Path<Duration>, _ least: Least) -> Setting {
        Setting(key, path, .duration, text: { DurationText.write($0) }) { reader, key throws(ConfigurationError) in
            guard let duration = try reader.duration(key) else { return nil }
            try least.check(duration, reader, key)
            return duration
        }
    }

    /// A duration, or `none`.
    static func duration(_ key: String, orNone path: Path<Duration?>, from least: Duration? = nil) -> Setting {
        Setting(key, path, .duration, text: { $0.map { DurationText.write($0) } ?? Form.none }) {
            reader,
            key throws(ConfigurationError) in
            guard let duration = try reader.durationOrNone(key) else { return nil }
            guard let duration else { return .some(nil) }
            try Least.aboveZero.check(duration, reader, key)
            if let least, duration < least {
                throw reader.failure(.outOfRange, key, "less than \(DurationText.write(least))")
            }
            return duration
        }
    }

    static func range(_ key: String, _ path: Path<ClosedRange<Duration>>) -> Setting {
        Setting(key, path, .range, text: { DurationText.write($0) }) { reader, key throws(ConfigurationError) in
            guard let range = try reader.rangeOrNone(key) else { return nil }
            guard let range else { throw reader.failure(.wrongForm, key, "not two durations: write 100ms...5s") }
            try Least.aboveZero.check(range.lowerBound, reader, key)
            return range
        }
    }

    /// Two durations, or `none`.
    static func range(_ key: String, orNone path: Path<ClosedRange<Duration>?>) -> Setting {
        Setting(key, path, .range, text: { $0.map { DurationText.write($0) } ?? Form.none }) {
            reader,
            key throws(ConfigurationError) in
            guard let range = try reader.rangeOrNone(key) else { return nil }
            guard let range else { return .some(nil) }
            try Least.aboveZero.check(range.lowerBound, reader, key)
            return range
        }
    }

    static func integer(_ key: String, _ path: Path<Int>, _ range: ClosedRange<Int>) -> Setting {
        Setting(key, path, .integer, text: { String($0) }) { reader, key throws(ConfigurationError) in
            guard let number = try reader.integer(key) else { return nil }
            try reader.check(number, range, key)
            return number
        }
    }

    static func size(_ key: String, _ path: Path<Int>) -> Setting {
        Setting(key, path, .size, text: { SizeText.write($0) }) { reader, key throws(ConfigurationError) in
            guard let bytes = try reader.size(key) else { return nil }
            try reader.check(bytes, 1...Int.max, key)
            return bytes
        }
    }

    static func number(_ key: String, _ path: Path<Double>, _ range: ClosedRange<Double>) -> Setting {
        Setting(key, path, .number, text: { $0 == $0.rounded() ? String(Int($0)) : String($0) }) {
            reader,
            key throws(ConfigurationError) in
            guard let number = try reader.number(key) else { return nil }
            guard range.contains(number) else {
                let most = range.upperBound == .greatestFiniteMagnitude ? "" : " to \(range.upperBound)"
                throw reader.failure(.outOfRange, key, "not a number from \(range.lowerBound)\(most)")
            }
            return number
        }
    }

    static func flag(_ key: String, _ path: Path<Bool>) -> Setting {
        Setting(key, path, .flag, text: { "\($0)" }) { reader, key throws(ConfigurationError) in try reader.flag(key) }
    }

    static func text(_ key: String, _ path: Path<String>) -> Setting {
        Setting(key, path, .text, text: { $0.isEmpty ? nil : $0 }) { reader, key throws(ConfigurationError) in
            try reader.text(key)
        }
    }

    /// A text that is not there by default.
    static func text(_ key: String, optional path: Path<String?>) -> Setting {
        Setting(key, path, .text, text: { $0 }) { reader, key throws(ConfigurationError) in
            try reader.text(key).map { .some($0) }
        }
    }

    /// A text, or `none`.
    static func text(_ key: String, orNone path: Path<String?>) -> Setting {
        Setting(key, path, .text, text: { $0 ?? Form.none }) { reader, key throws(ConfigurationError) in
            try reader.text(key).map { $0 == Form.none ? nil : $0 }
        }
    }

    /// One case of an enumeration, by its name.
    static func choice<Choice: RawRepresentable & CaseIterable & Sendable>(
        _ key: String,
        _ path: Path<Choice>
    ) -> Setting where Choice.RawValue == String {
        let words = Choice.allCases.map(\.rawValue)
        return Setting(key, path, .choice(words), text: { $0.rawValue }) { reader, key throws(ConfigurationError) in
            try reader.choice(key, of: words).flatMap { Choice(rawValue: $0) }
        }
    }
}

extension SettingReader {
    func check(_ number: Int, _ range: ClosedRange<Int>, _ key: String) throws(ConfigurationError) {
        guard !range.contains(number) else { return }
        let most = range.upperBound == .max ? " up" : " to \(range.upperBound)"
        throw failure(.outOfRange, key, "not a number from \(range.lowerBound)\(most)")
    }
}
#endif
