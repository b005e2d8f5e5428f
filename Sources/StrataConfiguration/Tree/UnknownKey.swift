#if Configuration
public import Foundation

/// A key that no part of Strata reads: most likely a misspelt one.
///
/// Providers of swift-configuration answer when they are asked for a key, but do not list their keys. So this compares
/// names that you have: those of the environment, or of a file.
///
/// ```swift
/// let json = try Data(contentsOf: file)
/// for key in UnknownKey.find(inJSON: json, under: "strata", caches: ["products", "sessions"]) {
///     logger.warning("\(key)")
/// }
/// ```
public struct UnknownKey: Sendable, Hashable, CustomStringConvertible {
    /// The key, as it was found.
    public let key: String
    /// The key that may be meant; `nil` when none is similar.
    public let suggestion: String?

    /// The key, and the key that may be meant.
    public var description: String {
        suggestion.map { "\(key) is not a key of Strata; did you mean \($0)?" } ?? "\(key) is not a key of Strata"
    }

    /// The unknown ones among keys.
    ///
    /// - Parameters:
    ///   - keys: Keys with dots between their parts, beginning with the section: `redis.connectTimeout`.
    ///   - caches: The names of the caches; with `nil` any name counts as one.
    /// - Returns: The unknown ones, in their order.
    public static func find(among keys: some Sequence<String>, caches: [String]? = nil) -> [UnknownKey] {
        find(among: keys, caches: caches, separator: ".") { $0 }
    }

    /// The unknown ones among variables of the environment.
    ///
    /// - Parameters:
    ///   - variables: The names of variables; those that do not begin with the prefix are ignored.
    ///   - prefix: The section of Strata in the form of a variable: `STRATA` for a reader that is scoped to `strata`.
    ///   - caches: The names of the caches; with `nil` any name counts as one.
    /// - Returns: The unknown ones, in their order.
    public static func find(
        inEnvironment variables: some Sequence<String>,
        prefix: String,
        caches: [String]? = nil
    ) -> [UnknownKey] {
        let beginning = prefix.isEmpty ? "" : prefix + "_"
        let own = variables.filter { $0.hasPrefix(beginning) }.map { String($0.dropFirst(beginning.count)) }
        return find(among: own, caches: caches, separator: "_", spell: variable)
            .map { UnknownKey(key: beginning + $0.key, suggestion: $0.suggestion.map { beginning + $0 }) }
    }

    /// The unknown ones among the keys of a JSON file.
    ///
    /// - Parameters:
    ///   - data: The file.
    ///   - section: The section of Strata in the file, with dots between its parts; empty for the whole file.
    ///   - caches: The names of the caches; with `nil` any name counts as one.
    /// - Returns: The unknown ones, in alphabetical order; none for a file that is no JSON object, which the provider
    ///   reports.
    public static func find(inJSON data: Data, under section: String = "", caches: [String]? = nil) -> [UnknownKey] {
        var root = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:]
        for part in section.split(separator: ".") { root = root[String(part)] as? [String: Any] ?? [:] }
        var keys: [String] = []
        func walk(_ object: [String: Any], _ path: String) {
            for (name, value) in object {
                if let inner = value as? [String: Any] {
                    walk(inner, path + name + ".")
                } else {
                    keys.append(path + name)
                }
            }
        }
        walk(root, "")
        return find(among: keys.sorted(), caches: caches)
    }

    // MARK: Inside

    private static let sections = ConfigurationKey.all.map(\.path)
    private static let placeholder = "<name>"

    private static func find(
        among keys: some Sequence<String>,
        caches: [String]?,
        separator: String,
        spell: (String) -> String = { $0 }
    ) -> [UnknownKey] {
        let ofCaches = sections.filter { $0.contains(placeholder) }
        let plain = sections.filter { !$0.contains(placeholder) }.map(spell)
        let named = (caches ?? [])
            .flatMap { name in ofCaches.map { spell($0.replacing(placeholder, with: name)) } }
        // Where no names are given: what stands before and behind that of a cache.
        let around = ofCaches.map { path in
            let parts = path.split(separator: placeholder, maxSplits: 1).map { String($0) }
            return (
                before: spell(String(parts[0].dropLast())) + separator,
                after: separator + spell(String(parts[1].dropFirst()))
            )
        }
        let known = Set(plain + named)
        return keys.compactMap { key in
            guard !known.contains(key) else { return nil }
            if caches == nil {
                let isNamed = around.contains { before, after in
                    key.hasPrefix(before) && key.hasSuffix(after) && key.count > before.count + after.count
                }
                guard !isNamed else { return nil }
            }
            return UnknownKey(key: key, suggestion: nearest(to: key, in: plain + named))
        }
    }

    /// A key as a variable of the environment has it.
    private static func variable(_ key: String) -> String {
        var name = ""
        var isAfterSmall = false
        for character in key {
            if character.isUppercase, isAfterSmall { name.append("_") }
            isAfterSmall = character.isLowercase
            name += character.isLetter || character.isNumber ? character.uppercased() : "_"
        }
        return name
    }

    /// The known key with the fewest letters that differ, if they are a quarter of its letters at most.
    private static func nearest(to key: String, in known: [String]) -> String? {
        let wanted = Array(key.lowercased().utf8)
        var best: (key: String, distance: Int)?
        for candidate in known {
            let distance = distance(wanted, Array(candidate.lowercased().utf8))
            if distance < best?.distance ?? (candidate.utf8.count / 4 + 1) { best = (candidate, distance) }
        }
        return best?.key
    }

    /// How many letters have to be added, left out or exchanged (Levenshtein 1965).
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (place, letter) in one.enumerated() {
            var diagonal = row[0]
            row[0] = place + 1
            for (index, second) in other.enumerated() {
                let exchanged = diagonal + (letter == second ? 0 : 1)
                diagonal = row[index + 1]
                row[index + 1] = min(exchanged, diagonal + 1, row[index] + 1)
            }
        }
        return row[other.count]
    }
}
#endif
