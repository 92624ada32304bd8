#include "engine/recording/recording.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "engine/error.h"
#include "engine/kernels/product/widened.h"
#include "engine/processor/flush_denormals.h"
#include "engine/tensors/tensors.h"

namespace acc {
namespace {

std::string name_of_difference(const RecordedCall& a, const RecordedCall& b, size_t index) {
  const auto where = "call " + std::to_string(index + 1);
  if (a.op != b.op) return where + " is " + a.op->name + " in one run and " + b.op->name + " in the next";
  const auto& args = a.op->args;
  for (size_t i = 0; i < a.starts.size() && i < b.starts.size(); ++i) {
    const auto part = [i](const RecordedCall& call) {
      const size_t start = call.starts[i];
      const size_t end = i + 1 < call.starts.size() ? call.starts[i + 1] : call.numbers.size();
      return std::pair(call.numbers.data() + start, (end - start) * sizeof(double));
    };
    const auto [x, x_bytes] = part(a);
    const auto [y, y_bytes] = part(b);
    if (x_bytes != y_bytes || std::memcmp(x, y, x_bytes) != 0) {
      return "argument '" + args[i].name + "' of " + a.op->name + " (" + where + ") changes from run to run";
    }
  }
  return "the results of " + a.op->name + " (" + where + ") change from run to run";
}

bool is_same_call(const RecordedCall& a, const RecordedCall& b) {
  // Compares bits, because NaN marks arguments that were left out.
  return a.op == b.op && a.results == b.results && a.numbers.size() == b.numbers.size() &&
         std::memcmp(a.numbers.data(), b.numbers.data(), a.numbers.size() * sizeof(double)) == 0;
}

bool is_same_segment(const Segment& a, const Segment& b) {
  const auto is_same_output = [](const Output& x, const Output& y) {
    return x.use.value == y.use.value && x.dtype == y.dtype && x.sizes == y.sizes;
  };
  return a.first_call == b.first_call && a.end_call == b.end_call && a.inputs == b.inputs &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), is_same_output);
}

// Null if only the step's result takes the value.
const RecordedCall* first_user(const CallList& list, int value) {
  for (const auto& call : list.calls) {
    for (const auto& use : call.uses) {
      if (use.value == value) return &call;
    }
  }
  return nullptr;
}

}  // namespace

Recording::Difference Recording::difference(const Recording& other) const {
  const auto& calls = list_.calls;
  const auto& segments = list_.segments;
  const auto& uploads = list_.uploads;
  const auto& theirs = other.list_;
  for (size_t i = 0; i < calls.size() && i < theirs.calls.size(); ++i) {
    if (!is_same_call(calls[i], theirs.calls[i])) return {name_of_difference(theirs.calls[i], calls[i], i), calls[i].place};
  }
  if (calls.size() != theirs.calls.size()) {
    const auto first = std::min(calls.size(), theirs.calls.size());
    return {"the step makes " + std::to_string(theirs.calls.size()) + " native calls in one run and " +
                std::to_string(calls.size()) + " in the next",
            first < calls.size() ? calls[first].place : -1};
  }
  if (!std::equal(segments.begin(), segments.end(), theirs.segments.begin(), theirs.segments.end(), is_same_segment)) {
    return {"what the step returns, or gives to what runs in JavaScript, changes from run to run"};
  }
  for (size_t i = 0; i < uploads.size() && i < theirs.uploads.size(); ++i) {
    const auto& a = uploads[i];
    const auto& b = theirs.uploads[i];
    if (a.value != b.value || a.dtype != b.dtype || a.sizes != b.sizes || a.bytes != b.bytes) {
      const auto* user = first_user(list_, a.value);
      return {"a tensor made of numbers, taken by " + (user ? user->op->name : "the step's result") +
                  ", changes from run to run",
              user ? user->place : -1};
    }
  }
  return {uploads.size() == theirs.uploads.size() ? "" : "the step makes different tensors of numbers"};
}

void Recording::seal(c10::Device device) {
  device_ = device;
  for (auto& input : fixed_) input.second.reset();
  for (size_t i = 0; i < list_.calls.size(); ++i) list_.calls[i].number = i;
  drop_unneeded();
  times_.prepare(list_.calls.size(), list_.segments.size());
  slots_.resize(list_.values.size());
  is_constant_.resize(slots_.size());
  for (auto& upload : list_.uploads) {
    if (!is_used_[static_cast<size_t>(upload.value)]) {
      upload.tensor.reset();
    } else if (!upload.tensor.defined()) {
      upload.tensor = tensor_from_bytes(upload.bytes.data(), upload.bytes.size(), upload.dtype, upload.sizes, device);
    }
    std::string().swap(upload.bytes);
    if (upload.is_written || !upload.tensor.defined()) continue;
    is_constant_[static_cast<size_t>(upload.value)] = true;
    slots_[static_cast<size_t>(upload.value)] = upload.tensor;
  }
  find_last_uses();
  for (auto& call : list_.calls) {
    std::vector<double>().swap(call.numbers);
    std::vector<uint32_t>().swap(call.starts);
  }
}

// Removes calls whose results nobody needs and that have no effect. Marks unneeded results with -1.
void Recording::drop_unneeded() {
  std::unordered_set<int> needed;
  for (const auto& segment : list_.segments) {
    for (const auto& output : segment.outputs) needed.insert(output.use.value);
  }
  std::vector<bool> is_kept(list_.calls.size());
  for (size_t i = list_.calls.size(); i-- > 0;) {
    auto& call = list_.calls[i];
    is_kept[i] = call.is_kept;
    for (int& result : call.results) {
      if (needed.count(result) > 0) {
        is_kept[i] = true;
      } else {
        result = -1;
      }
    }
    if (!is_kept[i]) continue;
    for (const auto& use : call.uses) needed.insert(use.value);
  }
  std::vector<RecordedCall> kept;
  for (auto& segment : list_.segments) {
    const size_t first = kept.size();
    for (size_t i = segment.first_call; i < segment.end_call; ++i) {
      if (is_kept[i]) kept.push_back(std::move(list_.calls[i]));
    }
    segment.first_call = first;
    segment.end_call = kept.size();
  }
  list_.calls = std::move(kept);
  is_used_.resize(list_.values.size());
  for (const int value : needed) {
    if (value >= 0) is_used_[static_cast<size_t>(value)] = true;
  }
  // join() compares the uploads of these calls. Their fixed inputs are no longer needed.
  for (const auto& call : list_.constant_calls) {
    for (const auto& use : call.uses) {
      if (use.value >= 0 && fixed_.count(use.value) == 0) is_used_[static_cast<size_t>(use.value)] = true;
    }
  }
}

void Recording::find_last_uses() {
  std::vector<bool> is_used_later = is_constant_;
  const auto look_at = [&](Use& use) {
    if (use.value < 0) return;
    const auto value = static_cast<size_t>(use.value);
    use.is_last = !is_used_later[value];
    is_used_later[value] = true;
  };
  for (size_t s = list_.segments.size(); s-- > 0;) {
    auto& segment = list_.segments[s];
    for (size_t k = segment.outputs.size(); k-- > 0;) look_at(segment.outputs[k].use);
    for (size_t i = segment.end_call; i-- > segment.first_call;) {
      auto& uses = list_.calls[i].uses;
      for (size_t k = uses.size(); k-- > 0;) look_at(uses[k]);
    }
  }
}

void Recording::run(size_t index, TensorTable& tensors, const double* in, double* out, size_t capacity) {
  const auto& segment = list_.segments.at(index);
  if (segment.outputs.size() > capacity) {
    throw Error(kOperatorFailed, "A recorded step has " + std::to_string(segment.outputs.size()) +
                                     " results. The limit is " + std::to_string(capacity) + ".");
  }
  const ReplayMemory::Use use(memory(), index == 0, index + 1 == list_.segments.size());
  try {
    for (const int value : segment.inputs) {
      const double id = *in++;
      // Throws if an action released it: what was computed from it is no longer what the step computes.
      if (fixed_.count(value) > 0) tensors.get(id);
      if (is_used_[static_cast<size_t>(value)]) slots_[static_cast<size_t>(value)] = tensors.get(id);
    }
    for (auto& tensor : run_segment(index)) *out++ = tensors.add(std::move(tensor));
  } catch (...) {
    reset();
    throw;
  }
}

std::vector<at::Tensor> Recording::run_segment(size_t index) {
  const auto& segment = list_.segments[index];
  const c10::InferenceMode guard;
  const FlushDenormals flush;
  for (const auto& upload : list_.uploads) {
    if (upload.segment == index && upload.is_written && is_used_[static_cast<size_t>(upload.value)]) {
      slots_[static_cast<size_t>(upload.value)] = upload.tensor.clone();
    }
  }
  times_.begin(index);
  for (size_t i = segment.first_call; i < segment.end_call; ++i) {
    run_call(list_.calls[i]);
    times_.end(i);
  }
  std::vector<at::Tensor> results;
  for (const auto& output : segment.outputs) {
    results.push_back(take(output.use));
    const auto& tensor = results.back();
    if (tensor.scalar_type() != output.dtype || tensor.sizes() != at::IntArrayRef(output.sizes)) {
      throw Error(kOperatorFailed, "A result of a replay has a different shape or dtype than in the recorded step.");
    }
  }
  return results;
}

void Recording::reset() {
  memory().abandon();
  stack_.clear();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!is_constant_[i]) slots_[i].reset();
  }
}

at::Tensor Recording::take(const Use& use) {
  auto& slot = slots_[static_cast<size_t>(use.value)];
  if (!slot.defined()) {
    throw Error(kOperatorFailed, "A replay needs a tensor that existed in the recorded step and is missing now.");
  }
  return use.is_last ? std::move(slot) : slot;
}

void Recording::run_call(const RecordedCall& call) {
  try {
    if (call.program) {
      run_program(call);
    } else {
      run_operator(call);
    }
  } catch (...) {
    const auto error = describe_current_exception(kOperatorFailed);
    const auto* code = code_or(error, kOperatorFailed);
    // The call that reports it may be innocent.
    if (error.code == kDeviceFailed) throw Error(code, error.message);
    const auto name = call.program ? "Fused operators" : call.op->name;
    throw Error(code, name + ", in the replay of a recorded step: " + error.message);
  }
}

void Recording::run_operator(const RecordedCall& call) {
  stack_ = call.stack;
  for (const auto& fill : call.fills) {
    const auto* uses = call.uses.data() + fill.first;
    auto& argument = stack_[fill.argument];
    if (fill.kind == Fill::kTensor) {
      argument = take(uses[0]);
    } else if (fill.kind == Fill::kTensorList) {
      c10::List<at::Tensor> list;
      list.reserve(fill.count);
      for (uint32_t k = 0; k < fill.count; ++k) list.push_back(take(uses[k]));
      argument = std::move(list);
    } else {
      c10::List<std::optional<at::Tensor>> list;
      list.reserve(fill.count);
      for (uint32_t k = 0; k < fill.count; ++k) {
        list.push_back(uses[k].value < 0 ? std::nullopt : std::optional(take(uses[k])));
      }
      argument = std::move(list);
    }
  }
  call_on(stack_, *call.op);
  give(call);
}

void Recording::run_program(const RecordedCall& call) {
  std::vector<at::Tensor> inputs;
  for (const auto& use : call.uses) inputs.push_back(take(use));
  auto results = fused::run(*call.program, std::move(inputs), device_);
  for (size_t i = 0; i < results.size(); ++i) {
    if (call.results[i] >= 0) slots_[static_cast<size_t>(call.results[i])] = std::move(results[i]);
  }
}

void Recording::give(const RecordedCall& call) {
  size_t next = 0;
  const auto keep = [&](at::Tensor tensor) {
    const int value = next < call.results.size() ? call.results[next] : -1;
    ++next;
    if (value >= 0) slots_[static_cast<size_t>(value)] = std::move(tensor);
  };
  for (size_t i = 0; i < stack_.size(); ++i) {
    if (call.op->result_is_argument[i]) continue;
    if (stack_[i].isTensorList()) {
      for (at::Tensor& tensor : stack_[i].toTensorVector()) keep(std::move(tensor));
    } else if (stack_[i].isTensor()) {
      keep(std::move(stack_[i]).toTensor());
    } else {
      keep({});
    }
  }
  stack_.clear();
}

}  // namespace acc
