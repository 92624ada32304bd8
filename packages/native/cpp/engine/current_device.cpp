#include "engine/current_device.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace acc {
namespace {

thread_local c10::Device chosen(c10::DeviceType::CPU);

}  // namespace

c10::Device current_device() { return chosen; }

void set_current_device(c10::Device device) {
  if (device == chosen) return;
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).uncheckedSetDevice(device);
  chosen = device;
}

}  // namespace acc
