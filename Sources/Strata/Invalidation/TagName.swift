/// A tag in the form in which it is compared, counted and sent.
///
/// Texts that are equal in Swift are one tag: the form is `=` and the UTF-8 of Unicode's normalization form C. A tag of
/// more than ``longest`` bytes becomes `#` and the SHA-256 of these bytes in hexadecimal. So no tag can be mistaken for
/// another, or for a field of another kind.
package struct TagName: Sendable, Hashable {
    /// The sign and the text behind it.
    package let bytes: [UInt8]

    /// The most bytes of a name that is not hashed.
    static let longest = 128

    /// The name of a tag; any text has one, also the empty text.
    package init(_ tag: String) {
        let text = tag.utf8.allSatisfy { $0 < 0x80 } ? Array(tag.utf8) : NormalForm.composed(tag)
        guard text.count > Self.longest else {
            bytes = [UInt8(ascii: "=")] + text
            return
        }
        bytes = [UInt8(ascii: "#")] + SHA256.hexadecimal(text)
    }

    /// A name that was received; `nil` when no tag has it.
    package init?(bytes: some Collection<UInt8>) {
        switch bytes.first {
        case UInt8(ascii: "=") where bytes.count <= 1 + Self.longest: break
        case UInt8(ascii: "#") where bytes.count == 65: break
        default: return nil
        }
        self.bytes = Array(bytes)
    }

    /// The number by which gates know the tag.
    ///
    /// - Parameter seed: Tells levels apart that share a gate.
    /// - Returns: The hash of the name.
    package func fingerprint(seed: UInt64 = 0) -> UInt64 { XXH64.hash(bytes, seed: seed) }

    /// The names of tags, each once.
    package static func unique(_ tags: [String]) -> [TagName] {
        guard tags.count > 1 else { return tags.map { TagName($0) } }
        var seen: Set<TagName> = []
        return tags.map { TagName($0) }.filter { seen.insert($0).inserted }
    }
}

/// How many tags an entry may have, and how long they may be.
///
/// | limit | value | why |
/// |---|---|---|
/// | tags of an entry | 1 000 | a read may have to ask for the number of each |
/// | length of a tag | 1 024 bytes of UTF-8 | it stands in every entry that bears it |
/// | all tags of an entry in Redis | 65 535 bytes, two more a tag | the envelope's field |
///
/// Beyond the first two ``CacheError/Code/invalidTags`` is thrown, beyond the third ``CacheError/Code/tooLarge``;
/// nothing is written. An empty tag is a tag like any other; one that is named twice counts once.
public enum TagLimits {
    /// The most tags that an entry may have.
    public static let tagsPerEntry = 1_000
    /// The most bytes that a tag may have in UTF-8.
    public static let tagLength = 1_024

    /// Checks the tags of an entry.
    ///
    /// - Throws: ``CacheError/Code/invalidTags``.
    package static func check(_ tags: [String]) throws(CacheError) {
        guard tags.count <= tagsPerEntry else {
            throw CacheError(code: .invalidTags, message: "\(tags.count) tags on an entry: at most \(tagsPerEntry)")
        }
        try checkLengths(tags)
    }

    /// Checks the lengths of tags alone: any number of them may be invalidated at once.
    ///
    /// - Throws: ``CacheError/Code/invalidTags``.
    package static func checkLengths(_ tags: [String]) throws(CacheError) {
        for tag in tags where tag.utf8.count > tagLength {
            throw CacheError(
                code: .invalidTags,
                message: "a tag of \(tag.utf8.count) bytes: at most \(tagLength)"
            )
        }
    }
}
