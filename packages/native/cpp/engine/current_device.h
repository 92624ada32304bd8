#pragma once

#include <c10/core/Device.h>

#include <thread>

namespace acc {

// The device on which this thread allocates pinned memory, makes events and synchronizes. libtorch
// keeps one for each thread, and a new thread begins with device 0: without a choice, each rank of a
// host would use memory of the first GPU. A thread that works for another one takes over its device.
c10::Device current_device();
// `device` has an index, or is the CPU.
void set_current_device(c10::Device device);

// A thread that runs `body` on the device of the thread that starts it.
template <typename Body>
std::thread thread_on_device(Body body) {
  return std::thread([device = current_device(), body = std::move(body)]() mutable {
    set_current_device(device);
    body();
  });
}

}  // namespace acc
