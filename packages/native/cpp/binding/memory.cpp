#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "binding/async.h"
#include "binding/convert.h"
#include "engine/files/checksum.h"
#include "engine/device/current_device.h"
#include "engine/device/gpu_facts.h"
#include "engine/device/memory.h"
#include "engine/device/upload.h"
#include "engine/processor/float32_precision.h"

namespace acc {
namespace {

Napi::Value stats(const Napi::CallbackInfo& info, const Context& context) {
  const auto figures = memory_stats(context.operators.default_device);
  auto result = Napi::Object::New(info.Env());
  const auto set = [&](const char* name, int64_t value) {
    result.Set(name, Napi::Number::New(info.Env(), static_cast<double>(value)));
  };
  set("allocatedBytes", figures.allocated);
  set("peakAllocatedBytes", figures.peak_allocated);
  set("reservedBytes", figures.reserved);
  set("allocations", figures.allocations);
  return result;
}

// An owner of memory by its number.
uint8_t owner_at(const Napi::CallbackInfo& info, size_t index) {
  const double owner = number_at(info, index);
  if (!(owner >= 0 && owner < static_cast<double>(kMemoryOwners))) {
    throw Error(kInvalidArgument, "There is no owner of memory with this number.");
  }
  return static_cast<uint8_t>(owner);
}

// memoryOwners(): the bytes of each owner now, then those at the peak
Napi::Value owners(const Napi::CallbackInfo& info) {
  const auto figures = memory_owners();
  auto result = Napi::Float64Array::New(info.Env(), 2 * kMemoryOwners);
  for (size_t i = 0; i < kMemoryOwners; ++i) {
    result[i] = static_cast<double>(figures.now[i]);
    result[kMemoryOwners + i] = static_cast<double>(figures.at_peak[i]);
  }
  return result;
}

void bind_owners(Napi::Env env, Napi::Object exports, Context& context) {
  bind(env, exports, "memoryOwners", [](const Napi::CallbackInfo& info) { return owners(info); });
  bind(env, exports, "setMemoryOwner", [](const Napi::CallbackInfo& info) -> Napi::Value {
    set_memory_owner(owner_at(info, 0));
    return info.Env().Undefined();
  });
  // giveMemory(handles, owner)
  bind(env, exports, "giveMemory", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const uint8_t owner = owner_at(info, 1);
    for (const double id : numbers_at(info, 0)) give_memory(context.tensors.get(id), owner);
    return info.Env().Undefined();
  });
}

// The number of usable devices of a type; 0 if libtorch was built without that type.
int device_count(c10::DeviceType type) {
  if (type == c10::DeviceType::CPU) return 1;
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return c10::impl::VirtualGuardImpl(type).deviceCount();
}

void set_default_device(const std::string& name, Context& context) {
  c10::Device device(name);
  const int count = device_count(device.type());
  if (device.index() >= count || count == 0) {
    throw Error(kDeviceUnavailable, "The device '" + name + "' was requested, but libtorch finds " +
                                        std::to_string(count) + " devices of type '" +
                                        c10::DeviceTypeName(device.type(), true) + "'.");
  }
  if (!device.is_cpu() && !device.has_index()) device.set_index(0);
  set_current_device(device);
  context.operators.default_device = device;
}

// Waits until the default device has finished its work. A CPU finishes every call before it
// returns.
void synchronize(const Context& context) {
  const c10::Device device = context.operators.default_device;
  if (device.type() == c10::DeviceType::CPU) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.index());
}

// gpuFacts(index, driver): { name, uuid, capability } | undefined
Napi::Value gpu(const Napi::CallbackInfo& info) {
  const auto facts = gpu_facts(static_cast<int>(number_at(info, 0)), string_at(info, 1));
  if (!facts) return info.Env().Undefined();
  auto result = Napi::Object::New(info.Env());
  result.Set("name", facts->name);
  result.Set("uuid", facts->uuid);
  result.Set("capability", std::to_string(facts->major) + "." + std::to_string(facts->minor));
  return result;
}

// checksum(bytes): Promise<number>. Another thread computes it.
Napi::Value checksum_async(const Napi::CallbackInfo& info) {
  const auto bytes = bytes_at(info, 0);
  // Keeps the array alive while the other thread reads it.
  const auto held = std::make_shared<Napi::ObjectReference>(Napi::Persistent(info[0].As<Napi::Object>()));
  const auto result = std::make_shared<uint32_t>(0);
  return AsyncCall::start(
      info.Env(), [bytes, result] { *result = checksum(bytes.data, bytes.size); },
      [held, result](Napi::Env env) -> Napi::Value { return Napi::Number::New(env, *result); });
}

void bind_devices(Napi::Env env, Napi::Object exports, Context& context) {
  bind(env, exports, "setDefaultDevice", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    set_default_device(string_at(info, 0), context);
    return info.Env().Undefined();
  });
  bind(env, exports, "setUploadStream", [](const Napi::CallbackInfo& info) -> Napi::Value {
    set_upload_stream(bool_at(info, 0));
    return info.Env().Undefined();
  });
  bind(env, exports, "synchronize", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    synchronize(context);
    return info.Env().Undefined();
  });
  bind(env, exports, "deviceCount", [](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), device_count(c10::Device(string_at(info, 0)).type()));
  });
}

}  // namespace

void bind_memory(Napi::Env env, Napi::Object exports, Context& context) {
  install_caching_allocator();
  bind(env, exports, "memoryStats", [&](const Napi::CallbackInfo& info) { return stats(info, context); });
  bind(env, exports, "resetPeakMemory", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    reset_peak_memory(context.operators.default_device);
    return info.Env().Undefined();
  });
  bind_owners(env, exports, context);
  bind(env, exports, "releaseCachedMemory", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    release_cached_memory(context.operators.default_device);
    return info.Env().Undefined();
  });
  bind(env, exports, "gpuFacts", [](const Napi::CallbackInfo& info) { return gpu(info); });
  bind(env, exports, "totalDeviceMemory", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), static_cast<double>(total_memory(context.operators.default_device)));
  });
  bind_devices(env, exports, context);
  // Tells V8 about native bytes that only its garbage collector can free.
  bind(env, exports, "adjustExternalMemory", [](const Napi::CallbackInfo& info) -> Napi::Value {
    int64_t total = 0;
    napi_adjust_external_memory(info.Env(), static_cast<int64_t>(number_at(info, 0)), &total);
    return Napi::Number::New(info.Env(), static_cast<double>(total));
  });
  bind(env, exports, "setNumThreads", [](const Napi::CallbackInfo& info) -> Napi::Value {
    at::set_num_threads(static_cast<int>(number_at(info, 0)));
    return info.Env().Undefined();
  });
  bind(env, exports, "getNumThreads", [](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), at::get_num_threads());
  });
  bind(env, exports, "setSeed", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    // A replay would not repeat the seeding.
    if (auto* recorder = context.operators.recorder) recorder->refuse("it seeds random generators");
    // Seeds the generators of all devices.
    at::manual_seed(static_cast<uint64_t>(number_at(info, 0)));
    return info.Env().Undefined();
  });
  bind(env, exports, "setFloat32Precision", [](const Napi::CallbackInfo& info) -> Napi::Value {
    set_float32_precision(string_at(info, 0), string_at(info, 1));
    return info.Env().Undefined();
  });
  bind(env, exports, "hasChecksum", [](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Boolean::New(info.Env(), has_checksum());
  });
  bind(env, exports, "checksum", [](const Napi::CallbackInfo& info) { return checksum_async(info); });
  bind(env, exports, "buildConfiguration", [](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::String::New(info.Env(), at::show_config());
  });
}

}  // namespace acc
