#include "fallback.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>

#include "arena.h"
#include "generator.h"
#include "streams.h"

namespace late {
namespace {

/** Kernels that a GPU lacks, by parts of their names. */
constexpr const char* kOnlyForCpus[] = {"mkldnn", "onednn", "_for_cpu", "fbgemm", "nnpack"};

/** Operators that take CPU tensors beside those of a GPU, as CUDA's do. */
constexpr const char* kMixing[] = {"aten::index.Tensor", "aten::index_put_", "aten::_index_put_impl_", "aten::index_put"};

/** Operators whose results have a size that depends on values: a GPU's host waits for it. */
constexpr const char* kSizedByValues[] = {"aten::nonzero",       "aten::masked_select",    "aten::_unique2",
                                          "aten::unique_dim",    "aten::unique_consecutive", "aten::repeat_interleave.Tensor",
                                          "aten::_unique"};

std::string name_of(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

template <typename Change>
c10::IValue changed(const c10::IValue& value, const Change& change) {
  if (value.isTensor()) return change(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(change(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(change(*tensor)) : std::nullopt);
    }
    return list;
  }
  return value;
}

/** Stands for the tensors of one call on another device, where tensors that share memory also do. */
class Replacement {
 public:
  using Make = std::function<at::Tensor(const at::Tensor&)>;
  explicit Replacement(Make make) : make_(std::move(make)) {}

  at::Tensor of(const at::Tensor& tensor) {
    if (!is_on_device(tensor)) return tensor;
    for (const auto& [original, made] : pairs_) {
      if (original.is_same(tensor)) return made;
    }
    pairs_.emplace_back(tensor, make_(tensor));
    return pairs_.back().second;
  }
  /** The device's tensor for which `made` stands; undefined if there is none. */
  at::Tensor original_of(const at::Tensor& made) const {
    for (const auto& [original, replaced] : pairs_) {
      if (replaced.is_same(made)) return original;
    }
    return {};
  }
  /** The device's tensor whose memory `made` has; undefined if there is none. */
  at::Tensor owner_of(const at::Tensor& made) const {
    if (!made.defined() || !made.has_storage() || made.storage().nbytes() == 0) return {};
    for (const auto& [original, replaced] : pairs_) {
      if (replaced.has_storage() && replaced.storage().is_alias_of(made.storage())) return original;
    }
    return {};
  }
  /** Gives tensors of the device the sizes that a call gave to those that stand for them; returns both. */
  std::vector<std::pair<at::Tensor, at::Tensor>> resize() const {
    std::vector<std::pair<at::Tensor, at::Tensor>> resized;
    for (const auto& [original, replaced] : pairs_) {
      if (original.sizes() == replaced.sizes()) continue;
      original.resize_(replaced.sizes());
      original.unsafeGetTensorImpl()->set_sizes_and_strides(replaced.sizes(), replaced.strides());
      resized.emplace_back(original, replaced);
    }
    return resized;
  }

 private:
  Make make_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
};

at::Tensor view_of(const at::Tensor& owner, const at::Tensor& like) {
  auto view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(owner.storage()),
                                                       c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), like.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  view._set_conj(like.is_conj());
  view._set_neg(like.is_neg());
  return view;
}

at::Tensor on_meta(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
}

/** The flags of the processor that calls: flushing denormals belongs to a thread. */
unsigned processor_flags() {
#if defined(__x86_64__)
  return _mm_getcsr();
#else
  return 0;
#endif
}

void set_processor_flags(unsigned flags) {
#if defined(__x86_64__)
  _mm_setcsr(flags);
#endif
}

struct Call {
  const c10::OperatorHandle& op;
  std::string name;
  std::vector<c10::IValue> arguments;
  c10::Device device;
};

bool is_view(const c10::FunctionSchema& schema) {
  const auto& returns = schema.returns();
  return !returns.empty() && returns[0].alias_info() && !returns[0].alias_info()->isWrite();
}

bool gives_host_values(const Call& call) {
  for (const auto& each : call.op.schema().returns()) {
    const auto kind = each.type()->kind();
    if (kind != c10::TypeKind::TensorType && kind != c10::TypeKind::ListType) return true;
  }
  return std::find(std::begin(kSizedByValues), std::end(kSizedByValues), call.name) != std::end(kSizedByValues);
}

void refuse_foreign(const Call& call) {
  for (const char* part : kOnlyForCpus) {
    TORCH_CHECK_NOT_IMPLEMENTED(call.name.find(part) == std::string::npos, "Could not run '", call.name,
                                "' with arguments from the 'late' backend.");
  }
}

void visit(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visitor) {
  changed(value, [&](const at::Tensor& tensor) {
    if (tensor.defined()) visitor(tensor);
    return tensor;
  });
}

/** The one device of all tensors. CPU tensors of one element go along, as with CUDA. */
c10::Device device_of(const Call& call) {
  std::optional<c10::Device> found;
  for (const auto& argument : call.arguments) {
    visit(argument, [&](const at::Tensor& tensor) {
      if (!is_on_device(tensor)) return;
      TORCH_CHECK(!found || *found == tensor.device(), call.name,
                  ": Expected all tensors to be on the same device, but found at least two devices, ", *found, " and ",
                  tensor.device(), "!");
      found = tensor.device();
    });
    if (!found && argument.isDevice()) found = argument.toDevice();
  }
  return found && found->type() == kType && found->has_index() ? *found : c10::Device(kType, current_device());
}

void refuse_mixed(const Call& call) {
  if (std::find_if(std::begin(kMixing), std::end(kMixing), [&](const char* name) {
        return call.name == name;
      }) != std::end(kMixing)) {
    return;
  }
  for (const auto& argument : call.arguments) {
    visit(argument, [&](const at::Tensor& tensor) {
      TORCH_CHECK(is_on_device(tensor) || (tensor.device().is_cpu() && tensor.dim() == 0), call.name,
                  ": Expected all tensors to be on the same device, but found at least two devices, ", call.device,
                  " and ", tensor.device(), "!");
    });
  }
}

/** The arguments for another device: its tensors, its name, and a generator that it has. */
torch::jit::Stack arguments_on(const Call& call, Replacement& tensors, c10::DeviceType type) {
  torch::jit::Stack stack;
  const auto& declared = call.op.schema().arguments();
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& value = call.arguments[i];
    const bool takes_generator = declared[i].type()->str() == "Generator?" || declared[i].type()->str() == "Generator";
    if (value.isDevice()) {
      stack.emplace_back(c10::Device(type));
    } else if (takes_generator && type == c10::kCPU) {
      const auto& own = value.isGenerator() ? value.toGenerator() : default_generator(call.device.index());
      stack.emplace_back(inner_generator(own));
    } else {
      stack.push_back(changed(value, [&](const at::Tensor& tensor) { return tensors.of(tensor); }));
    }
  }
  return stack;
}

/** Tensors of the device for the results of a call on the CPU, and what must still be copied there. */
class Results {
 public:
  explicit Results(const Replacement& replaced, c10::Device device) : replaced_(replaced), device_(device) {}

  at::Tensor of(const at::Tensor& result) {
    if (!result.defined() || is_on_device(result)) return result;
    if (auto original = replaced_.original_of(result); original.defined()) return original;
    if (auto owner = replaced_.owner_of(result); owner.defined()) return view_of(owner, result);
    return fresh(result);
  }
  /** Room for `result`, which is not in memory yet. */
  at::Tensor fresh(const at::Tensor& result) {
    auto made = at::empty_strided(result.sizes(), result.strides(), result.options().device(device_));
    copies_.emplace_back(over_memory(made), result);
    return made;
  }
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;

 private:
  const Replacement& replaced_;
  c10::Device device_;
};

void run_now(const Call& call, torch::jit::Stack& stack) {
  auto& stream = stream_of(current_stream(call.device.index()));
  if (gives_host_values(call)) {
    ++counters().waits;
    ++counters().reads;
  }
  stream.drain();
  Replacement replaced(over_memory);
  auto on_cpu = arguments_on(call, replaced, c10::kCPU);
  call.op.callBoxed(&on_cpu);
  Results results(replaced, call.device);
  for (const auto& [original, resized] : replaced.resize()) {
    results.copies_.emplace_back(over_memory(original), resized);
  }
  for (const auto& value : on_cpu) {
    stack.push_back(changed(value, [&](const at::Tensor& tensor) { return results.of(tensor); }));
  }
  if (results.copies_.empty()) return;
  stream.enqueue([copies = std::move(results.copies_)] {
    for (const auto& [target, source] : copies) target.copy_(source);
  });
}

std::vector<at::Tensor> tensors_in(const torch::jit::Stack& stack) {
  std::vector<at::Tensor> found;
  for (const auto& value : stack) {
    changed(value, [&](const at::Tensor& tensor) {
      found.push_back(tensor);
      return tensor;
    });
  }
  return found;
}

/** Operators whose shapes only Python knows, because they have no kernel for meta tensors in C++. */
class Shapeless {
 public:
  bool has(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return names_.count(name) > 0;
  }
  void add(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    names_.insert(name);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

Shapeless& shapeless() {
  static auto* const made = new Shapeless();
  return *made;
}

/**
 * Computes shapes by the operator's kernel for meta tensors, and values later.
 *
 * @return False if the operator has no such kernel. Then nothing was done.
 */
bool run_later(const Call& call, torch::jit::Stack& stack) {
  Replacement shadows(on_meta);
  auto shapes = arguments_on(call, shadows, c10::kMeta);
  try {
    call.op.callBoxed(&shapes);
  } catch (const c10::NotImplementedError&) {
    shapeless().add(call.name);
    return false;
  }
  shadows.resize();
  Results results(shadows, call.device);
  std::vector<bool> is_new;
  for (const auto& value : shapes) {
    stack.push_back(changed(value, [&](const at::Tensor& tensor) {
      const auto before = results.copies_.size();
      auto made = results.of(tensor);
      is_new.push_back(results.copies_.size() > before);
      return made;
    }));
  }
  Replacement replaced(over_memory);
  auto arguments = arguments_on(call, replaced, c10::kCPU);
  // A CPU tensor of one element may be written or freed before the call runs.
  for (auto& value : arguments) {
    value = changed(value, [&](const at::Tensor& tensor) {
      return tensor.defined() && !replaced.original_of(tensor).defined() ? tensor.clone() : tensor;
    });
  }
  std::vector<at::Tensor> targets;
  for (const auto& [target, shape] : results.copies_) targets.push_back(target);
  const auto flags = processor_flags();
  stream_of(current_stream(call.device.index()))
      .enqueue([op = call.op, arguments = std::move(arguments), targets = std::move(targets),
                is_new = std::move(is_new), flags]() mutable {
        set_processor_flags(flags);
        op.callBoxed(&arguments);
        const auto values = tensors_in(arguments);
        size_t next = 0;
        for (size_t i = 0; i < values.size(); ++i) {
          if (is_new[i]) targets[next++].copy_(values[i]);
        }
      });
  return true;
}

bool has_meta_kernel(const c10::OperatorHandle& op) {
  return op.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta);
}

}  // namespace

bool is_on_device(const at::Tensor& tensor) { return tensor.defined() && tensor.device().type() == kType; }

at::Tensor over_memory(const at::Tensor& tensor) {
  const auto& storage = tensor.storage();
  void* memory = storage.nbytes() > 0 && storage.data() ? Arena::instance().for_kernels(storage.data()) : nullptr;
  auto over = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), storage.nbytes(),
                                                    c10::DataPtr(memory, c10::Device(c10::kCPU)),
                                                    c10::GetAllocator(c10::kCPU), true);
  auto made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(over)), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  made._set_conj(tensor.is_conj());
  made._set_neg(tensor.is_neg());
  return made;
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::InferenceMode inference;
  const auto count = op.schema().arguments().size();
  Call call{op, name_of(op), {stack->end() - static_cast<std::ptrdiff_t>(count), stack->end()}, c10::Device(kType, 0)};
  call.device = device_of(call);
  refuse_foreign(call);
  refuse_mixed(call);
  torch::jit::drop(*stack, count);
  const c10::DeviceGuard guard(call.device);
  if (is_view(op.schema())) {
    Replacement replaced(over_memory);
    auto on_cpu = arguments_on(call, replaced, c10::kCPU);
    op.callBoxed(&on_cpu);
    Results results(replaced, call.device);
    for (const auto& value : on_cpu) {
      stack->push_back(changed(value, [&](const at::Tensor& tensor) { return results.of(tensor); }));
    }
    return;
  }
  ++counters().launches;
  const bool may_wait = runs_late() && has_meta_kernel(op) && !gives_host_values(call) && !shapeless().has(call.name);
  if (!may_wait || !run_later(call, *stack)) run_now(call, *stack);
}

}  // namespace late
