import StrataRedis

/// What was found under a key, in JSON.
struct JSONEntry: Encodable {
    let key: JSONKey
    let timeToLive: JSONTimeToLive
    /// `fresh`, `stale`, `expired`, `void` or `unusable`.
    let state: String
    /// What has voided it: `clear`, `tags`, `unknownNumber` or `marksLost`.
    let voidedBy: String?
    /// The tags that have.
    let voidingTags: [String]?
    /// Why it is unusable.
    let fault: String?
    /// The type that Redis keeps there.
    let type: String
    /// Milliseconds of the server's clock since 1970.
    let serverTime: Int64
    let size: Int?
    let format: UInt8?
    let envelope: Envelope?
    let value: Value?

    init(_ entry: EntryInspection, valueLimit: Int?) {
        key = JSONKey(entry.key)
        timeToLive = JSONTimeToLive(entry.timeToLive)
        state = entry.state.rawValue
        serverTime = entry.serverTime
        switch entry.invalidation {
        case nil: (voidedBy, voidingTags) = (nil, nil)
        case .cleared: (voidedBy, voidingTags) = ("clear", nil)
        case .tags(let tags): (voidedBy, voidingTags) = ("tags", tags)
        case .unknownNumber: (voidedBy, voidingTags) = ("unknownNumber", nil)
        case .marksLost: (voidedBy, voidingTags) = ("marksLost", nil)
        }
        switch entry.content {
        case .otherType(let name):
            type = name
            fault = "otherType"
            (size, format, envelope, value) = (nil, nil, nil, nil)
        case .envelope(let found):
            type = "string"
            fault = found.fault.map { "\($0)" }
            size = found.size
            format = found.format
            envelope = found.header.map { Envelope(found, $0, now: entry.serverTime) }
            value = valueLimit.map { Value(found, limit: $0) }
        }
    }

    struct Envelope: Encodable {
        let kind: String?
        let kindNumber: UInt8
        let codec: UInt8
        let codecName: String?
        let compression: UInt8
        let protection: UInt8
        let schema: UInt32
        let version: String?
        let stored: Moment
        let freshUntil: Moment
        let staleUntil: Moment
        let ageSeconds: Double
        let fetchSeconds: Double
        let asOf: UInt64
        let tags: [String]
        let payloadBytes: UInt32
        let belongsToKey: Bool?
        /// `matches`, `differs` or `notChecked`.
        let checksum: String

        init(_ found: EnvelopeInspection, _ header: EnvelopeHeader, now: Int64) {
            kind = found.kind.map { "\($0)" }
            kindNumber = header.kind
            codec = header.codec
            codecName = PayloadText.codecName(header.codec)
            compression = header.compression
            protection = header.protection
            schema = header.schema
            version = found.version
            stored = Moment(header.storedAt, now: now)
            freshUntil = Moment(header.freshUntil, now: now)
            staleUntil = Moment(header.staleUntil, now: now)
            ageSeconds = -stored.relativeSeconds
            fetchSeconds = Double(header.fetchDuration) / 1_000_000
            asOf = header.asOf
            tags = found.tags
            payloadBytes = header.payloadLength
            belongsToKey = found.belongsToKey
            checksum = found.checksum.rawValue
        }
    }

    struct Value: Encodable {
        /// As it stands; possibly cut off.
        let bytes: JSONBytes
        let shownBytes: Int
        let totalBytes: Int

        init(_ found: EnvelopeInspection, limit: Int) {
            let shown = Array(found.payload.prefix(limit))
            bytes = JSONBytes(shown)
            shownBytes = shown.count
            totalBytes = found.header.map { Int($0.payloadLength) } ?? found.size
        }
    }
}
