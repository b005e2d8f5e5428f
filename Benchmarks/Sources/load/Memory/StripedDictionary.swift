#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The yardstick of the memory level: dictionaries behind locks, and nothing else.
///
/// No limit, no lifetimes, no statistics.
///
/// The hash of the key chooses one of 16 stripes; each has a `pthread_mutex_t`.
///
/// Proof of `Sendable`: the arrays are set once, what the pointers lead to is reached under its stripe's lock only.
final class StripedDictionary<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    private final class Stripe {
        let mutex: UnsafeMutablePointer<pthread_mutex_t>
        var values: [Key: Value] = [:]
        // Keeps the stripes on lines of their own.
        private let padding: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)

        init() {
            mutex = .allocate(capacity: 1)
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }
    }

    private let stripes: [Stripe]

    init() {
        stripes = (0..<16).map { _ in Stripe() }
    }

    @inline(__always)
    subscript(key: Key) -> Value? {
        get {
            let stripe = stripes[key.hashValue & 15]
            pthread_mutex_lock(stripe.mutex)
            defer { pthread_mutex_unlock(stripe.mutex) }
            return stripe.values[key]
        }
        set {
            let stripe = stripes[key.hashValue & 15]
            pthread_mutex_lock(stripe.mutex)
            defer { pthread_mutex_unlock(stripe.mutex) }
            stripe.values[key] = newValue
        }
    }
}
