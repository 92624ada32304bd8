#include "engine/process_group.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <numeric>

#include "engine/error.h"

namespace acc {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw Error(kInvalidArgument, std::string("a collective needs ") + what);
}

int64_t sum_of(const std::vector<int64_t>& counts, size_t start, size_t size) {
  const auto from = counts.begin() + static_cast<std::ptrdiff_t>(start);
  return std::accumulate(from, from + static_cast<std::ptrdiff_t>(size), int64_t{0});
}

bool has_elements(const at::Tensor& tensor, int64_t count) { return tensor.defined() && tensor.numel() == count; }

void require_parts(const CollectiveCall& call, int rank, size_t size) {
  const bool is_gather = call.kind == CollectiveKind::kAllGather;
  const int64_t own = call.input.numel();
  if (call.counts.empty()) {
    const auto ranks = static_cast<int64_t>(size);
    require(has_elements(call.output, is_gather ? own * ranks : own), "an output of as many elements as come");
    require(is_gather || own % ranks == 0, "as many elements for each rank");
    return;
  }
  require(call.counts.size() == (is_gather ? size : 2 * size), "a count for each rank");
  for (const auto count : call.counts) require(count >= 0, "counts from 0");
  const auto place = static_cast<size_t>(rank);
  require(own == (is_gather ? call.counts[place] : sum_of(call.counts, 0, size)), "an input of as many elements as counted");
  require(has_elements(call.output, sum_of(call.counts, is_gather ? 0 : size, size)),
          "an output of as many elements as counted");
  if (is_gather) return;
  require(call.counts[place] == call.counts[size + place], "one count of what stays here");
  for (size_t to = 0; to < size; ++to) require(call.counts[to] <= call.most, "the most elements of any part");
}

void require_alike(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    require(tensor.is_contiguous(), "contiguous tensors");
    require(tensor.scalar_type() == tensors.front().scalar_type(), "tensors of one type");
    require(tensor.device() == tensors.front().device(), "tensors on one device");
  }
}

}  // namespace

void give_output(CollectiveCall& call) {
  const c10::InferenceMode guard;
  call.input = call.input.contiguous();
  call.output = at::empty_like(call.input);
}

void throw_mismatch(const std::vector<int32_t>& words) {
  std::string text = "[";
  for (size_t i = 0; i < words.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(words[i]);
  throw Error(kCollectiveMismatch, text + "]");
}

void require_fitting(const CollectiveCall& call, int rank, int size) {
  require(call.root >= 0 && call.root < size, "a rank of the group");
  if (call.kind == CollectiveKind::kAllReduceMany) return require_alike(call.many);
  require(call.input.is_contiguous(), "a contiguous input");
  if (call.output.defined()) {
    require(call.output.is_contiguous(), "a contiguous output");
    require(call.output.scalar_type() == call.input.scalar_type(), "input and output of one type");
    require(call.output.device() == call.input.device(), "input and output on one device");
  }
  const auto ranks = static_cast<int64_t>(size);
  switch (call.kind) {
    case CollectiveKind::kAllReduce: return require(has_elements(call.output, call.input.numel()), "an output as large");
    case CollectiveKind::kReduce:
      return require(rank != call.root || has_elements(call.output, call.input.numel()), "an output as large");
    case CollectiveKind::kReduceScatter:
      require(call.input.numel() % ranks == 0, "as many elements for each rank");
      return require(has_elements(call.output, call.input.numel() / ranks), "an output of one part");
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll: return require_parts(call, rank, static_cast<size_t>(size));
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive: return require(call.root != rank, "another rank");
    default: return;
  }
}

}  // namespace acc
