import Synchronization

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A lock that the memory level could have used.
protocol CandidateLock: AnyObject, Sendable {
    static var name: String { get }
    init()
    func lockForReading()
    func unlock()
}

/// The standard library's.
final class MutexCandidate: CandidateLock {
    static let name = "mutex"
    private let mutex = Mutex(())

    func lockForReading() { mutex._unsafeLock() }
    func unlock() { mutex._unsafeUnlock() }
}

/// Proof of `Sendable`: the pointer is set once, and POSIX guards what it points to.
final class PthreadMutexCandidate: CandidateLock, @unchecked Sendable {
    static let name = "pthread_mutex"
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit { mutex.deallocate() }

    func lockForReading() { pthread_mutex_lock(mutex) }
    func unlock() { pthread_mutex_unlock(mutex) }
}

/// Proof of `Sendable`: the pointer is set once, and POSIX guards what it points to.
final class ReadWriteLockCandidate: CandidateLock, @unchecked Sendable {
    static let name = "pthread_rwlock"
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    init() {
        lock.initialize(to: pthread_rwlock_t())
        pthread_rwlock_init(lock, nil)
    }

    deinit { lock.deallocate() }

    func lockForReading() { pthread_rwlock_rdlock(lock) }
    func unlock() { pthread_rwlock_unlock(lock) }
}

/// One atomic flag, and the processor given away when it stays up.
final class SpinLockCandidate: CandidateLock {
    static let name = "spin"
    private let isTaken = Atomic(false)

    func lockForReading() {
        var rounds = 0
        while isTaken.exchange(true, ordering: .acquiring) {
            rounds += 1
            if rounds > 100 { sched_yield() }
        }
    }

    func unlock() { isTaken.store(false, ordering: .releasing) }
}

/// Nothing: what reads of the dictionary alone cost.
final class NoLockCandidate: CandidateLock {
    static let name = "none"

    func lockForReading() {}
    func unlock() {}
}
