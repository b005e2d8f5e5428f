/// Something with sockets of its own that the I/O thread of a client drives beside the connections for commands.
protocol LoopAttachment: AnyObject, Sendable {
    /// Its drivers, which come first in each round: what they tell is acted on before replies that may be older.
    ///
    /// Called once, on the I/O thread.
    func drivers(for thread: LoopThread) -> [any LoopDriver]

    /// A connection for commands has come to stand.
    func connected()

    /// The server at the other end is not the one to talk to: everything is to be made anew.
    func leave(_ error: RedisError)

    /// The client logs in as another user from now on: connections that stand are replaced, and attempts that wait need
    /// not wait any longer.
    ///
    /// - Parameter isFirst: Whether it could not log in before, so that nothing stands.
    func loginChanged(isFirst: Bool)

    /// The client ends.
    func shutDown()
}

/// What drivers share on the I/O thread.
struct LoopThread {
    let configuration: RedisConfiguration
    let wakeup: Wakeup
    /// The certificates and keys of encrypted connections; `nil` if they are plain.
    let material: TLSMaterial?
    /// Where the server is, if that has to be found out.
    var locator: (any ServerLocator)?
    /// How often all drivers of the thread may begin to connect.
    let limit: ReconnectLimit
    /// Has the server remember what the connections read; `nil` if there are none.
    var tracking: ReadTracking?
    /// Room for received bytes.
    let buffer: UnsafeMutableRawBufferPointer
}
