import StrataTesting
import Testing

/// A server that sends back what it gets, behind a proxy.
func withEcho(
    at kind: TestEndpoint.Kind = .loopback,
    seed: UInt64 = 1,
    _ body: (FaultProxy, ScriptedServer) async throws -> Void
) async throws {
    let server = try await ScriptedServer.start(at: kind, responding: { bytes, _ in [.send(bytes)] })
    let proxy = try await FaultProxy.start(to: server.endpoint, at: kind, seed: seed)
    do {
        try await body(proxy, server)
    } catch {
        await proxy.stop()
        await server.stop()
        throw error
    }
    await proxy.stop()
    await server.stop()
}

/// A connected pair: something went through both ways.
func connect(to proxy: FaultProxy) async throws -> ByteClient {
    let client = try await ByteClient.connect(to: proxy.endpoint)
    try await client.send("hello")
    #expect(try await client.readText(5) == "hello")
    return client
}

/// Connects and is reset, which may come before the client has looked whether it is connected.
func expectReset(by proxy: FaultProxy) async throws {
    do {
        let client = try await ByteClient.connect(to: proxy.endpoint)
        #expect(try await client.readToEnd() == ("", .failure))
    } catch let error as HarnessError {
        #expect(error.message.contains("reset"))
    }
}
