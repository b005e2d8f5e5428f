/// Coding paths, put together from the bytes on demand: keeping them would cost each encode a boxed key a
/// level.
extension CBORWriter {
    /// The path of the value in a frame.
    func path(to slot: CBORSlot) -> [any CodingKey] {
        let index = Int(slot.index)
        guard index < frames.count, unsafe frames.base[index].serial == slot.serial else { return originPath }
        return path(frames: index)
    }

    /// The path of what the frame on top is encoding at this moment.
    var currentPath: [any CodingKey] {
        path(frames: frames.count)
    }

    private func path(frames count: Int) -> [any CodingKey] {
        var path = originPath
        for index in 0..<count {
            let frame = unsafe frames.base[index]
            switch frame.form {
            case .array:
                path.append(CBORKey(index: frame.count))
            case .map:
                let end = unsafe index + 1 < frames.count ? frames.base[index + 1].firstEntry : entries.count
                if end > frame.firstEntry { path.append(key(ofEntry: end - 1)) }
            case .empty, .value:
                break
            }
        }
        return path
    }

    private var originPath: [any CodingKey] {
        guard let origin else { return [] }
        let slot = origin.slot
        let parent = slot.writer
        let index = Int(slot.index)
        guard index < parent.frames.count, unsafe parent.frames.base[index].serial == slot.serial else { return [] }
        let key =
            unsafe parent.frames.base[index].form == .map
            ? parent.key(ofEntry: origin.index) : CBORKey(index: origin.index)
        return parent.path(to: slot) + [key]
    }

    private func key(ofEntry index: Int) -> CBORKey {
        let start = unsafe output.base + entries.base[index].start
        let key = unsafe CBORHead.codingKey(UnsafeRawBufferPointer(start: start, count: CBORHead.keyLength(start)))
        return key ?? CBORKey(stringValue: "")
    }

    // MARK: Errors

    /// A container was used after its value ended, while another value inside it was under way, or for a second value.
    ///
    /// Errors name the type and not the value: they end up in logs.
    @inline(never)
    func misuse() -> any Error {
        failure ?? fault("A container was used out of turn: after its value ended, or for a second value.")
    }

    /// The value is nested deeper than the encoder's limit.
    @inline(never)
    func tooDeep() -> any Error {
        fault("The value is nested deeper than the encoder's limit of \(levelLimit) levels.")
    }

    /// The value cannot be encoded for a reason.
    func fault(_ message: String) -> EncodingError {
        .invalidValue(CBOREncoder.self, .init(codingPath: currentPath, debugDescription: message))
    }
}
