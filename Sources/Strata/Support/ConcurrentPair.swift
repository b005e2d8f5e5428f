/// Runs two operations at the same time: one in a child task, the other in this task.
///
/// It stands in for `async let`, which the library does not use: up to Swift 6.3 the runtime looks at the child's
/// memory once more after it has told its parent that it is done, and the parent may have ended by then
/// (swiftlang/swift#89883).
///
/// Both have ended when this returns. Cancellation reaches both.
///
/// - Parameters:
///   - beside: What the child task does.
///   - own: What this task does. When it fails, the child is cancelled.
/// - Returns: Both results.
/// - Throws: What `own` throws; else what `beside` throws.
@discardableResult
package func concurrently<Beside: Sendable, Own, Failure: Error>(
    _ beside: @escaping @Sendable () async throws(Failure) -> Beside,
    and own: () async throws(Failure) -> Own
) async throws(Failure) -> (Beside, Own) {
    let (other, mine) = await withTaskGroup(of: Result<Beside, Failure>.self) { group in
        group.addTask {
            do throws(Failure) { return .success(try await beside()) } catch { return .failure(error) }
        }
        let result: Result<Own, Failure>
        do throws(Failure) {
            result = .success(try await own())
        } catch {
            group.cancelAll()
            result = .failure(error)
        }
        return (await group.next(), result)
    }
    guard let other else { preconditionFailure("a task of a group has a result") }
    let value = try mine.get()
    return (try other.get(), value)
}
