#if ServiceLifecycle
public import ServiceLifecycle

extension RedisClient: Service {}
#endif
