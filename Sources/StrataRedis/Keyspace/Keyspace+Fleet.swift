/// The names under which the instances of a fleet are listed and answer questions.
///
/// All of them lie in one slot of a cluster, whose tag no user's key has a part in.
extension Keyspace {
    private var fleet: [UInt8] { values.dropLast(2) + Array("i:{fleet}".utf8) }

    /// The keyspace whose index of instances has this name; `nil` for another name.
    init?(indexOfInstances name: RedisKey) {
        let end = Array(":i:{fleet}".utf8)
        guard name.bytes.suffix(end.count).elementsEqual(end),
            let keyspace = Keyspace(base: name.bytes.dropLast(end.count - 1)), keyspace.instances == name
        else { return nil }
        self = keyspace
    }

    /// The name of the index of instances.
    var instances: RedisKey { RedisKey(fleet) }

    /// The name of an instance's record.
    func record(of instance: String) -> RedisKey { RedisKey(fleet + Array(":\(instance)".utf8)) }

    /// The name of an instance's answer to a question.
    func answer(to question: String, of instance: String) -> RedisKey {
        RedisKey(fleet + Array(":\(question):\(instance)".utf8))
    }
}
