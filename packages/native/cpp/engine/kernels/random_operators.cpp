// The operators acc::random_state and acc::exchange_random_state. They read and replace the state
// of a device's random generator as a tensor, so that random draws can be repeated.

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <torch/library.h>

#include <mutex>

namespace acc {
namespace {

// A generator's state is a CPU tensor of bytes. Its size is a multiple of four.
at::Tensor random_state(c10::Device device) {
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state().view(at::kInt);
}

at::Tensor exchange_random_state(const at::Tensor& state, c10::Device device) {
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  auto before = generator.get_state().view(at::kInt);
  // A state that was stored elsewhere may be on another device.
  generator.set_state(state.cpu().view(at::kByte));
  return before;
}

}  // namespace
}  // namespace acc

TORCH_LIBRARY_FRAGMENT(acc, library) {
  // The tag makes a recording keep the call, even if nothing else marks it as needed.
  const std::vector<at::Tag> draws{at::Tag::nondeterministic_seeded};
  library.def("random_state(Device device) -> Tensor", acc::random_state, draws);
  library.def("exchange_random_state(Tensor state, Device device) -> Tensor", acc::exchange_random_state, draws);
}
