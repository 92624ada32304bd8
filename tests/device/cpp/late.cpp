// One unit, because each costs the time of torch's headers.
#include "arena.cpp"
#include "streams.cpp"
#include "generator.cpp"
#include "device.cpp"
#include "fallback.cpp"
#include "operators.cpp"
#include "collectives.cpp"
