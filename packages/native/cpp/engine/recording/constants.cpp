#include <algorithm>
#include <unordered_set>

#include "engine/error.h"
#include "engine/recording/recording.h"

namespace acc {

void Recording::fix_inputs(const std::vector<FixedInput>& inputs, const TensorTable& tensors) {
  for (const auto& [segment, input, id] : inputs) {
    if (!tensors.has(id)) continue;
    const auto& tensor = tensors.get(id);
    if (!FrozenMemory::is_possible(tensor)) continue;
    fixed_[list_.segments.at(segment).inputs.at(input)] = tensor;
    frozen_.push_back(std::make_unique<FrozenMemory>(tensor));
  }
}

CallList Recording::part_for(const std::vector<int>& wanted) const {
  std::unordered_set<int> needed(wanted.begin(), wanted.end());
  CallList part;
  for (size_t i = list_.calls.size(); i-- > 0;) {
    const auto& call = list_.calls[i];
    const auto is_needed = [&](int value) { return needed.count(value) > 0; };
    if (std::none_of(call.results.begin(), call.results.end(), is_needed)) continue;
    if (call.is_kept) {
      throw Error(kInvalidArgument, "A constant of a recording depends on " + call.op->name +
                                        ", which writes in place or draws random numbers.");
    }
    for (const int value : call.results) needed.erase(value);
    for (const auto& use : call.uses) {
      if (use.value >= 0) needed.insert(use.value);
    }
    part.calls.push_back(call);
  }
  std::reverse(part.calls.begin(), part.calls.end());
  for (const auto& upload : list_.uploads) {
    if (!upload.is_written && needed.erase(upload.value) > 0) part.uploads.push_back(upload);
  }
  for (const auto& [value, tensor] : fixed_) {
    if (needed.erase(value) == 0) continue;
    part.uploads.push_back({value, 0, tensor.scalar_type(), tensor.sizes().vec(), {}, false, true, tensor});
  }
  if (!needed.empty()) {
    throw Error(kInvalidArgument, "A constant of a recording depends on what replays give or write.");
  }
  part.values = list_.values;
  Segment segment{0, part.calls.size(), {}, {}};
  for (const int value : wanted) {
    const auto& meta = list_.values[static_cast<size_t>(value)];
    segment.outputs.push_back({{value, false}, meta.dtype, meta.sizes});
  }
  part.segments.push_back(std::move(segment));
  return part;
}

std::vector<at::Tensor> Recording::constants(const std::vector<int>& wanted, c10::Device device) const {
  if (wanted.empty()) return {};
  Recording computation(part_for(wanted));
  computation.seal(device);
  return computation.run_segment(0);
}

}  // namespace acc
