internal import Logging

/// What the groups of connections on an I/O thread share; lives on that thread.
final class LoopResources {
    /// Room for received bytes.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    private var materials: [TLSOptions: TLSMaterial] = [:]

    deinit { buffer.deallocate() }

    /// The certificates and keys of a configuration; `nil` if nothing is encrypted.
    ///
    /// Shared, so that the files that were read for one node of a cluster serve for all: one that shows up while the
    /// files are being replaced is reached with those that were in force.
    func material(of configuration: RedisConfiguration, logger: Logger?) -> TLSMaterial? {
        guard let options = configuration.tls else { return nil }
        if let material = materials[options] { return material }
        let material = TLSMaterial(options, logger: logger)
        materials[options] = material
        return material
    }
}
