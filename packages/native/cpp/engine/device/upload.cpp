#include "engine/device/upload.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <map>
#include <mutex>

namespace acc {
namespace {

// Smaller copies stay in the order of the queue: they gain less than an event takes. Not measured.
constexpr size_t kLeastBytes = size_t{64} << 10;

std::atomic<bool> has_own_stream{false};

c10::Stream upload_stream(c10::Device device) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, c10::Stream> streams;
  const std::lock_guard guard(mutex);
  const auto known = streams.find(device.index());
  if (known != streams.end()) return known->second;
  const auto made = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
  return streams.emplace(device.index(), made).first->second;
}

}  // namespace

void set_upload_stream(bool is_own) { has_own_stream = is_own; }

at::Tensor upload(const at::Tensor& from, c10::Device device) {
  if (!has_own_stream || from.nbytes() < kLeastBytes) return from.to(device, /*non_blocking=*/true);
  const c10::impl::VirtualGuardImpl streams(device.type());
  const auto user = streams.getStream(device);
  const auto own = upload_stream(device);
  c10::Event done(device.type());
  at::Tensor made;
  {
    const c10::StreamGuard guard(own);
    made = from.to(device, /*non_blocking=*/true);
    done.record(own);
  }
  done.block(user);
  // The memory belongs to the stream of the upload. Its next user waits for this one.
  streams.recordDataPtrOnStream(made.storage().data_ptr(), user);
  return made;
}

}  // namespace acc
