#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The one background thread of all memory levels of the process, which removes expired entries from levels at rest.
///
/// It is a thread and not a task, because nothing here suspends, it must not take a thread from the cooperative pool,
/// and a level has no `run()` that a user would have to call. It starts with the first entry that has an end, sleeps
/// until something is due, and lives as long as the process. It does not keep levels alive.
///
/// Proof of `Sendable`: the pointers are set once and never freed, the state is touched under the mutex only.
@safe
final class Housekeeper: @unchecked Sendable {
    /// The shared instance.
    static let shared = Housekeeper()
    /// How often a duty that is always due runs.
    static let shortestPause = Duration.milliseconds(50)

    private struct Appointment {
        weak var duty: (any Watched)?
        var due: MonotonicInstant
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var appointments: [ObjectIdentifier: Appointment] = [:]
    private var hasThread = false
    /// Counts changes by other threads.
    private var changes = 0

    private init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe changed = .allocate(capacity: 1)
        unsafe changed.initialize(to: pthread_cond_t())
        #if canImport(Darwin)
        unsafe pthread_cond_init(changed, nil)
        #else
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(changed, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
        #endif
    }

    /// Runs the duty at the instant, or earlier if that was asked for before.
    ///
    /// Takes a lock that is never held while a duty runs.
    func come(to duty: some Watched, at due: MonotonicInstant) {
        let name = ObjectIdentifier(duty)
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        if let known = appointments[name], known.duty != nil, known.due <= due { return }
        appointments[name] = Appointment(duty: duty, due: due)
        changes &+= 1
        // Without a thread, an expired entry leaves when its level is next used.
        if !hasThread { hasThread = NativeThread.start(name: "strata-memory") { Housekeeper.shared.run() } == 0 }
        unsafe pthread_cond_signal(changed)
    }

    private func run() -> Never {
        while true {
            for duty in due() {
                let now = MonotonicInstant.now
                put(duty, max(duty.fire(at: now), now.advanced(by: Housekeeper.shortestPause)))
            }
        }
    }

    private func put(_ duty: any Watched, _ next: MonotonicInstant) {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        let name = ObjectIdentifier(duty)
        // An earlier time may have been asked for while the duty ran.
        if let due = appointments[name]?.due { appointments[name]?.due = min(due, next) }
    }

    /// The duties that are due; sleeps until one is, and may return none.
    private func due() -> [any Watched] {
        unsafe pthread_mutex_lock(mutex)
        let now = MonotonicInstant.now
        let seen = changes
        var due: [any Watched] = []
        var others: [any Watched] = []
        var next = MonotonicInstant.distantFuture
        for (name, appointment) in appointments {
            guard let duty = appointment.duty else {
                appointments[name] = nil
                continue
            }
            if appointment.due <= now {
                appointments[name]?.due = .distantFuture
                due.append(duty)
            } else {
                next = min(next, appointment.due)
                others.append(duty)
            }
        }
        unsafe pthread_mutex_unlock(mutex)
        // The last reference to a level may end here, where no lock is held.
        others = []
        guard due.isEmpty else { return due }
        unsafe pthread_mutex_lock(mutex)
        if changes == seen { sleep(from: now, until: next) }
        unsafe pthread_mutex_unlock(mutex)
        return []
    }

    private func sleep(from now: MonotonicInstant, until next: MonotonicInstant) {
        // Not longer than an hour at a time, so that no instant is too far for the system's types.
        let pause = min(now.nanoseconds(to: next), 3_600_000_000_000)
        #if canImport(Darwin)
        var length = timespec(tv_sec: Int(pause / 1_000_000_000), tv_nsec: Int(pause % 1_000_000_000))
        unsafe pthread_cond_timedwait_relative_np(changed, mutex, &length)
        #else
        let end = now.nanoseconds + pause
        var time = timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
        unsafe pthread_cond_timedwait(changed, mutex, &time)
        #endif
    }
}
