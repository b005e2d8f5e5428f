import StrataRedis
import Testing

@Suite("Fields of INFO")
struct ServerFieldsTests {
    @Test("names and values are parted at the first colon; headings and what has none are passed over")
    func read() {
        let text = "# Server: one\r\nredis_version:8.2.1\r\n\r\nexecutable:/a:b\r\nempty:\r\nnoise\r\nlast:1"
        #expect(
            ServerFields.read(text) == ["redis_version": "8.2.1", "executable": "/a:b", "empty": "", "last": "1"]
        )
        #expect(ServerFields.read("cluster_state:ok\ncluster_current_epoch:6\n")["cluster_current_epoch"] == "6")
        #expect(ServerFields.read("").isEmpty)
    }
}
