internal import Strata

/// The bytes under a value key, read as far as possible, also where a level would take them for a miss.
package struct EnvelopeInspection: Sendable {
    /// Whether the checksum is right.
    package enum Checksum: String, Sendable {
        case matches
        case differs
        /// The envelope is not whole, too large to be read, or of a format that this release does not know.
        case notChecked
    }

    /// The length of everything under the key, in bytes.
    package let size: Int
    /// The format number; `nil` when the bytes do not begin like an envelope.
    package let format: UInt8?
    /// The fields of the header; `nil` when they are cut short, or in a format that this release does not know.
    package let header: EnvelopeHeader?
    /// The tags; empty when they cannot be read.
    package let tags: [String]
    /// The payload or what there is of it; all bytes where there is no header to find it by.
    package let payload: [UInt8]
    /// Whether the checksum fits.
    package let checksum: Checksum
    /// Whether the envelope is that of the key under which it lies; `nil` when that cannot be told.
    package let belongsToKey: Bool?
    /// Why every level takes it for a miss; `nil` for a sound envelope.
    ///
    /// A level also checks its own codec, compression, protection and schema number, which are not known here.
    package let fault: EnvelopeFault?

    /// Looks at what was found.
    ///
    /// - Parameters:
    ///   - bytes: What was found, or its beginning.
    ///   - size: How many bytes there are in all.
    ///   - keyHash: The hash of the key.
    package init(_ bytes: [UInt8], size: Int, keyHash: UInt64) {
        self.size = size
        format = bytes.starts(with: Envelope.magic) && bytes.count > 3 && bytes[3] > 0 ? bytes[3] : nil
        let header = format == Envelope.formatVersion ? EnvelopeHeader(bytes) : nil
        self.header = header
        belongsToKey = header.map { $0.keyHash == keyHash }
        guard let header else {
            tags = []
            payload = bytes
            checksum = .notChecked
            fault = Self.fault(of: bytes, keyHash: keyHash)
            return
        }
        let labels = Array(bytes.dropFirst(Envelope.headerSize).prefix(Int(header.tagsLength)))
        payload = Array(bytes.dropFirst(Envelope.headerSize + Int(header.tagsLength)).prefix(Int(header.payloadLength)))
        tags = (try? Envelope.tags(labels)) ?? []
        guard bytes.count == size else {
            checksum = .notChecked
            fault = header.size == size ? nil : .truncated
            return
        }
        fault = Self.fault(of: bytes, keyHash: keyHash)
        guard header.size == size else {
            checksum = .notChecked
            return
        }
        let covered = Array(bytes[..<Envelope.checksummedSize])
        checksum = Envelope.checksum(header: covered, labels, payload) == header.checksum ? .matches : .differs
    }

    private static func fault(of bytes: [UInt8], keyHash: UInt64) -> EnvelopeFault? {
        do {
            _ = try Envelope(bytes, keyHash: keyHash)
            return nil
        } catch {
            return error
        }
    }
}

extension EnvelopeInspection {
    /// What the envelope says of its key; `nil` when that is cut short or unknown.
    package var kind: Envelope.Kind? { header.flatMap { Envelope.Kind(rawValue: $0.kind) } }

    /// The version stamp in hexadecimal.
    package var version: String? { header.map { Self.hexadecimal($0.versionHigh) + Self.hexadecimal($0.versionLow) } }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension EnvelopeFault {
    /// The fault in words, for a person who looks at a key.
    package var explanation: String {
        switch self {
        case .truncated: "cut short, or longer than its own lengths say"
        case .foreign: "not an envelope: something else was written there"
        case .newerFormat: "a format of a later release"
        case .unknownContent: "a kind that this release does not know"
        case .olderSchema: "a lower schema number than the level's"
        case .newerSchema: "a higher schema number than the level's"
        case .otherKey: "the envelope of another key"
        case .damaged: "damaged: the checksum does not fit, or a tag is not UTF-8"
        case .undecodable: "the codec cannot decode the payload"
        }
    }
}
