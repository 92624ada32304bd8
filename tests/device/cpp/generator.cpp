#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include "arena.h"
#include "streams.h"

namespace late {
namespace {

/** Draws by a generator of the CPU. Its state is read and set in the order of the device's work. */
class GeneratorImpl final : public c10::GeneratorImpl {
 public:
  GeneratorImpl(c10::DeviceIndex device, at::Generator inner)
      : c10::GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, device),
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        inner_(std::move(inner)) {}

  void set_current_seed(uint64_t seed) override { wait().set_current_seed(seed); }
  void set_offset(uint64_t offset) override { wait().set_offset(offset); }
  uint64_t get_offset() const override { return wait().get_offset(); }
  uint64_t current_seed() const override { return wait().current_seed(); }
  uint64_t seed() override { return wait().seed(); }
  void set_state(const c10::TensorImpl& state) override { wait().unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return wait().unsafeGetGeneratorImpl()->get_state();
  }
  const at::Generator& inner() const { return inner_; }

 private:
  GeneratorImpl* clone_impl() const override { return new GeneratorImpl(device_.index(), wait().clone()); }
  at::Generator& wait() const {
    drain_device(device_.index());
    return inner_;
  }

  mutable at::Generator inner_;
};

}  // namespace

at::Generator new_generator(c10::DeviceIndex device) {
  return at::make_generator<GeneratorImpl>(device, at::detail::createCPUGenerator());
}

const at::Generator& default_generator(c10::DeviceIndex device) {
  static const auto* const made = new std::vector<at::Generator>{new_generator(0), new_generator(1)};
  return made->at(static_cast<size_t>(device));
}

at::Generator inner_generator(const at::Generator& generator) {
  return static_cast<GeneratorImpl*>(generator.unsafeGetGeneratorImpl())->inner();
}

}  // namespace late
