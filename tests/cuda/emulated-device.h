// Comes before the source of a program that g++ compiles in place of NVRTC: the built-in names of CUDA.
// emulated-driver.cpp runs the threads.

#include "emulated-threads.h"

extern "C" {
__attribute__((visibility("default"))) Emulated* emulated = nullptr;
}

#define threadIdx (emulated->thread)
#define blockIdx (emulated->block)
#define gridDim (emulated->grid)

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
/** Blocks run one after the other. */
#define __shared__ static

inline void __syncthreads() { emulated->wait(); }
inline float __shfl_xor_sync(unsigned mask, float x, int lanes) {
  if (mask != 0xFFFFFFFFu) __builtin_trap();
  return emulated->exchange(x, lanes);
}
inline int __float_as_int(float x) {
  int bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits;
}
inline float __int_as_float(int bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
#define sqrtf __builtin_sqrtf
#define fabsf __builtin_fabsf
#define copysignf __builtin_copysignf

/** Calls a kernel with parameters that are given as addresses, as the driver has them. */
template <int... places>
struct Places {};
template <typename... Parameters, int... places>
void call_with(void (*kernel)(Parameters...), void** parameters, Places<places...>) {
  static_assert(((sizeof(Parameters) == 8) && ...), "every parameter has 8 bytes");
  kernel(*static_cast<Parameters*>(parameters[places])...);
}
template <typename... Parameters>
void call(void (*kernel)(Parameters...), void** parameters) {
  call_with(kernel, parameters, Places<__integer_pack(int(sizeof...(Parameters)))...>());
}
