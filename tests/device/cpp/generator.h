#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Allocator.h>

namespace late {

const at::Generator& default_generator(c10::DeviceIndex device);
at::Generator new_generator(c10::DeviceIndex device);
/** The generator of the CPU that draws for one of a device. */
at::Generator inner_generator(const at::Generator& generator);

void register_device();
c10::Allocator* device_allocator();

}  // namespace late
