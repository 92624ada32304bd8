// The operators that the device has itself: those that make memory, copy and read. All others run by
// the fallback. Operators `late::…` are for tests.

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include "arena.h"
#include "fallback.h"
#include "generator.h"
#include "streams.h"

namespace late {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

c10::Device chosen(std::optional<c10::Device> device) {
  const auto index = device && device->has_index() ? device->index() : current_device();
  return c10::Device(kType, index);
}

at::ScalarType type_of(std::optional<at::ScalarType> dtype) { return dtype.value_or(at::kFloat); }

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool> pin_memory,
                 std::optional<at::MemoryFormat> format) {
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  const c10::DeviceGuard guard(chosen(device));
  return at::detail::empty_generic(sizes, device_allocator(), kKeys, type_of(dtype), format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(chosen(device));
  return at::detail::empty_strided_generic(sizes, strides, device_allocator(), kKeys, type_of(dtype));
}

Stream& stream_for(const at::Tensor& tensor) { return stream_of(current_stream(tensor.device().index())); }

void upload(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  ++counters().uploads;
  // Memory that is not pinned is read before the call returns.
  const bool is_pinned = non_blocking && from.is_pinned();
  const auto source = is_pinned || !runs_late() ? from : from.clone();
  stream_for(to).enqueue([target = over_memory(to), source] { target.copy_(source); });
}

void download(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  stream_for(from).enqueue([target = to, source = over_memory(from)] { target.copy_(source); });
  if (non_blocking && to.is_pinned()) {
    ++counters().launches;
    return;
  }
  ++counters().reads;
  ++counters().waits;
  stream_for(from).drain();
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const c10::InferenceMode inference;
  if (from.numel() == 0) return to;
  if (!is_on_device(from)) {
    upload(from, to, non_blocking);
  } else if (!is_on_device(to)) {
    download(from, to, non_blocking);
  } else {
    ++counters().launches;
    if (from.device() != to.device()) drain_device(to.device().index());
    stream_for(from).enqueue([target = over_memory(to), source = over_memory(from)] { target.copy_(source); });
    if (from.device() != to.device()) drain_device(from.device().index());
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar local_scalar_dense(const at::Tensor& tensor) {
  const c10::InferenceMode inference;
  ++counters().reads;
  ++counters().waits;
  stream_for(tensor).drain();
  return over_memory(tensor).item();
}

const at::Tensor& resize(const at::Tensor& tensor, at::IntArrayRef sizes, std::optional<at::MemoryFormat>) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  const auto needed = static_cast<size_t>(tensor.storage_offset() + count) * tensor.element_size();
  if (needed > tensor.storage().nbytes()) {
    const c10::DeviceGuard guard(tensor.device());
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(tensor.storage(), needed);
  }
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

at::Tensor& set_storage_at(at::Tensor& tensor, at::Storage source, int64_t offset, at::IntArrayRef sizes,
                           at::IntArrayRef strides) {
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  if (strides.empty() && !sizes.empty()) {
    impl->set_sizes_contiguous(sizes);
    impl->set_storage_offset(offset);
  } else {
    impl->set_sizes_and_strides(sizes, strides, offset);
  }
  return tensor;
}

at::Tensor& set_storage(at::Tensor& tensor, at::Storage source) {
  const auto count = static_cast<int64_t>(source.nbytes() / tensor.element_size());
  return set_storage_at(tensor, std::move(source), 0, {count}, {1});
}

at::Tensor& set_tensor(at::Tensor& tensor, const at::Tensor& source) {
  return set_storage_at(tensor, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

void record_stream(at::Tensor&, at::Stream) {}

/** The kernels that fuse attention are for CUDA, so the composite is chosen. */
int64_t fused_sdp_choice(const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                         double, bool, std::optional<double>, bool) {
  return 0;
}

at::Tensor read_counters() {
  auto& all = counters();
  return at::tensor(std::vector<int64_t>{all.launches, all.waits, all.reads, all.uploads}, at::kLong);
}

void set_limit(int64_t bytes) { Arena::instance().set_limit(static_cast<size_t>(bytes)); }
void delay(int64_t seed, int64_t longest) { set_delays(static_cast<uint32_t>(seed), longest); }

int64_t stream_of_memory(const at::Tensor& tensor) { return Arena::instance().stream_of(tensor.storage().data()); }

/** A task that fails, as a kernel with an index out of range does. */
void break_device(const at::Tensor& tensor) {
  stream_for(tensor).enqueue([] { fail("device-side assert triggered"); });
}

/** An error of the device, with its number at CUDA. */
void report_error(int64_t number) {
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, static_cast<int32_t>(number), "late: an error");
}

int64_t touch(const at::Tensor& tensor) { return *static_cast<const volatile char*>(tensor.const_data_ptr()); }

/**
 * The composites of convolutions end in a function that a device must override. Those of operators with
 * structured kernels call the form with `out`, which a GPU does not.
 */
void fall_back_where_cpus_have_kernels(torch::Library& library) {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::vector<std::string> names{"convolution", "convolution_backward"};
  for (const auto& name : dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::CPU)) {
    const auto op = dispatcher.findOp(name);
    if (name.name.rfind("aten::", 0) != 0 || !op || op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) continue;
    names.push_back(name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name));
  }
  for (const auto& name : names) {
    library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&late::fallback>());
  }
}

struct AtLoad {
  AtLoad() { register_device(); }
} at_load;

}  // namespace
}  // namespace late

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&late::fallback>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", late::empty);
  library.impl("empty_strided", late::empty_strided);
  library.impl("_copy_from", late::copy_from);
  library.impl("_copy_from_and_resize", late::copy_from_and_resize);
  library.impl("_local_scalar_dense", late::local_scalar_dense);
  library.impl("resize_", late::resize);
  library.impl("set_.source_Storage", late::set_storage);
  library.impl("set_.source_Storage_storage_offset", late::set_storage_at);
  library.impl("set_.source_Tensor", late::set_tensor);
  library.impl("record_stream", late::record_stream);
  library.impl("_fused_sdp_choice", late::fused_sdp_choice);
  late::fall_back_where_cpus_have_kernels(library);
}

TORCH_LIBRARY(late, library) {
  library.def("counters() -> Tensor", late::read_counters);
  library.def("set_limit(int bytes) -> ()", late::set_limit);
  library.def("set_delays(int seed, int longest) -> ()", late::delay);
  library.def("touch(Tensor tensor) -> int", late::touch);
  library.def("stream_of_memory(Tensor tensor) -> int", late::stream_of_memory);
  library.def("report_error(int number) -> ()", late::report_error);
  library.def("break_device(Tensor tensor) -> ()", late::break_device);
}
