#include "engine/recording/recorder.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

namespace acc {
namespace {

// True for attention operators: the numbers that they return depend only on shapes and settings.
bool has_numbers_of_shapes(const std::string& name) {
  return name.rfind("aten::_fused_sdp_choice", 0) == 0 || name.rfind("aten::_scaled_dot_product_", 0) == 0;
}

// True if a number or a shape of the result depends on data. A replay would then need it in
// JavaScript.
bool depends_on_data(const Operator& op) {
  return op.handle.hasTag(at::Tag::data_dependent_output) || op.handle.hasTag(at::Tag::dynamic_output_shape);
}

// True for an operator whose writes no operator of a step reads. Replays make it on the same memory.
bool takes_notes(const std::string& name) { return name == "acc::note_indices"; }

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

}  // namespace

void Recorder::begin(const Operator& op, const double* in) {
  pending_ = RecordedCall();
  pending_.op = &op;
  pending_.place = place_;
  pending_in_ = in;
  pending_starts_.clear();
  pending_seen_.clear();
}

void Recorder::saw(const double* place, double id, const at::Tensor& tensor) {
  pending_seen_.push_back({static_cast<size_t>(place - pending_in_), value_of(id, tensor)});
}

void Recorder::arguments(const torch::jit::Stack& stack, const double* end) {
  auto& call = pending_;
  call.numbers.assign(pending_in_, end);
  for (const auto& [place, value] : pending_seen_) call.numbers[place] = value;
  for (const auto* start : pending_starts_) call.starts.push_back(static_cast<uint32_t>(start - pending_in_));
  call.stack = stack;
  size_t seen = 0;
  for (uint32_t i = 0; i < stack.size(); ++i) {
    const auto& argument = stack[i];
    const auto first = static_cast<uint32_t>(call.uses.size());
    if (argument.isTensor()) {
      if (!argument.toTensor().defined()) continue;
      call.uses.push_back({pending_seen_[seen++].value, false});
      call.fills.push_back({Fill::kTensor, i, first, 1});
    } else if (argument.isTensorList()) {
      const auto count = static_cast<uint32_t>(argument.toTensorList().size());
      for (uint32_t k = 0; k < count; ++k) call.uses.push_back({pending_seen_[seen++].value, false});
      call.fills.push_back({Fill::kTensorList, i, first, count});
    } else if (argument.isOptionalTensorList()) {
      const auto list = argument.toOptionalTensorList();
      for (const auto& element : list) {
        const std::optional<at::Tensor> tensor = element;
        call.uses.push_back({tensor ? pending_seen_[seen++].value : -1, false});
      }
      call.fills.push_back({Fill::kOptionalTensorList, i, first, static_cast<uint32_t>(list.size())});
    } else {
      continue;
    }
    call.stack[i] = c10::IValue();
  }
  note_writes(stack);
  if (depends_on_data(*call.op)) refuse("it calls " + call.op->name + ", whose result has a shape that depends on values");
}

// Called before the operator runs. A call that writes into memory from outside the step cannot be
// replayed, unless it takes notes there.
void Recorder::note_writes(const torch::jit::Stack& stack) {
  const auto& op = *pending_.op;
  pending_.is_kept = op.handle.hasTag(at::Tag::nondeterministic_seeded);
  const auto& declared = op.handle.schema().arguments();
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!is_written(declared[i])) continue;
    pending_.writes = true;
    if (takes_notes(op.name)) continue;
    if (stack[i].isTensor()) {
      note_write(stack[i].toTensor());
    } else if (stack[i].isTensorList()) {
      for (const at::Tensor& tensor : stack[i].toTensorVector()) note_write(tensor);
    }
  }
}

void Recorder::note_write(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const auto found = memory_.find(tensor.storage().unsafeGetStorageImpl());
  if (found == memory_.end()) return;
  if (found->second.upload >= 0) {
    list_.uploads[static_cast<size_t>(found->second.upload)].is_written = true;
  } else {
    refuse("it calls " + pending_.op->name + ", which writes in place into a tensor that the step did not make");
  }
}

void Recorder::made(double id, const at::Tensor& tensor) {
  const int value = new_value(tensor);
  pending_.results.push_back(value);
  value_of_[id] = value;
}

void Recorder::made_number() {
  pending_.results.push_back(-1);
  if (!has_numbers_of_shapes(pending_.op->name)) refuse("it takes a number from " + pending_.op->name);
}

void Recorder::end() {
  // A random draw is kept only if it returns a tensor.
  const auto& results = pending_.results;
  const bool gives = std::any_of(results.begin(), results.end(), [](int value) { return value >= 0; });
  pending_.is_kept = pending_.writes || (pending_.is_kept && gives);
  list_.calls.push_back(std::move(pending_));
}

void Recorder::upload(double id, const at::Tensor& tensor, const void* data, size_t bytes) {
  const int value = new_value(tensor);
  value_of_[id] = value;
  remember(tensor, static_cast<int>(list_.uploads.size()));
  list_.uploads.push_back({value,
                           list_.segments.size() - 1,
                           tensor.scalar_type(),
                           tensor.sizes().vec(),
                           std::string(static_cast<const char*>(data), bytes),
                           false,
                           false,
                           {}});
}

void Recorder::alias(double made, double id, const at::Tensor& tensor) { value_of_[made] = value_of(id, tensor); }

void Recorder::refuse(const std::string& reason) {
  if (!refusal_.empty()) return;
  refusal_ = reason;
  if (on_refused_) on_refused_();
}

int Recorder::new_value(const at::Tensor& tensor) {
  list_.values.push_back({tensor.scalar_type(), tensor.sizes().vec(), tensor.is_contiguous()});
  return static_cast<int>(list_.values.size()) - 1;
}

int Recorder::value_of(double id, const at::Tensor& tensor) {
  const auto known = value_of_.find(id);
  if (known != value_of_.end()) return known->second;
  const int value = new_value(tensor);
  take_from_outside(id, value, tensor);
  outside_ids_.push_back(id);
  return value;
}

void Recorder::take_from_outside(double id, int value, const at::Tensor& tensor) {
  value_of_[id] = value;
  list_.segments.back().inputs.push_back(value);
  remember(tensor, -1);
}

void Recorder::remember(const at::Tensor& tensor, int upload) {
  if (!tensor.has_storage()) return;
  auto* impl = tensor.storage().unsafeGetStorageImpl();
  memory_.insert_or_assign(impl, Memory{tensor.storage().getWeakStorageImpl(), upload});
}

std::vector<double> Recorder::cut(const std::vector<double>& outputs, const TensorTable& tensors) {
  std::vector<Output> given;
  for (const double id : outputs) {
    const auto& tensor = tensors.get(id);
    given.push_back({{value_of(id, tensor), false}, tensor.scalar_type(), tensor.sizes().vec()});
  }
  auto& segment = list_.segments.back();
  segment.end_call = list_.calls.size();
  segment.outputs = std::move(given);
  // The caller must give the outside inputs anew for the next segment, because a variable may have
  // new memory by then.
  auto outside = std::move(outside_ids_);
  outside_ids_.clear();
  for (const double id : outside) value_of_.erase(id);
  return outside;
}

void Recorder::resume(const std::vector<double>& given, const std::vector<double>& forgotten,
                      const TensorTable& tensors) {
  list_.segments.push_back({list_.calls.size(), list_.calls.size(), {}, {}});
  for (const double id : forgotten) value_of_.erase(id);
  for (const double id : given) {
    const auto& tensor = tensors.get(id);
    take_from_outside(id, new_value(tensor), tensor);
  }
}

}  // namespace acc
