internal import Strata

/// Runs what a source of credentials does between two waits on threads of their own.
///
/// An initializer that asks for them waits on its caller's thread, which may be one of the cooperative pool: if it were
/// the last of them, the source would never be asked.
final class QuestionThreads: TaskExecutor {
    static let shared = QuestionThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let status = NativeThread.start(name: "strata-ask") { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        // The system gives no thread: better late than never.
        if status != 0 { globalConcurrentExecutor.enqueue(job) }
    }
}
