#include "engine/groups/process_group.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>

#include "engine/error.h"

namespace acc {
namespace {

constexpr const char* kOtherSize = "Input and output of a collective do not have the same number of elements.";
constexpr const char* kOtherArrival = "The output of a collective does not have the number of elements that arrive.";
constexpr const char* kOtherShare = "The output of a collective does not have one rank's share of the elements.";

void require(bool holds, const char* problem) {
  if (!holds) throw Error(kInvalidArgument, problem);
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
    require(has_elements(call.output, is_gather ? own * ranks : own), kOtherArrival);
    require(is_gather || own % ranks == 0, "The elements of a tensor cannot be divided equally over the ranks.");
    return;
  }
  require(call.counts.size() == (is_gather ? size : 2 * size), "A collective needs one count for each rank.");
  for (const auto count : call.counts) require(count >= 0, "A count of elements for a rank is negative.");
  const auto place = static_cast<size_t>(rank);
  require(own == (is_gather ? call.counts[place] : sum_of(call.counts, 0, size)),
          "The input of a collective does not have the number of elements that the counts say.");
  require(has_elements(call.output, sum_of(call.counts, is_gather ? 0 : size, size)),
          "The output of a collective does not have the number of elements that the counts say.");
  if (is_gather) return;
  require(call.counts[place] == call.counts[size + place],
          "The counts disagree on the number of elements that this rank keeps.");
  for (size_t to = 0; to < size; ++to) {
    require(call.counts[to] <= call.most, "A count for a rank is larger than the given largest count.");
  }
}

void require_alike(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    require(tensor.is_contiguous(), "A tensor of a collective is not contiguous.");
    require(tensor.scalar_type() == tensors.front().scalar_type(),
            "The tensors of a collective do not have the same element type.");
    require(tensor.device() == tensors.front().device(), "The tensors of a collective are not on the same device.");
  }
}

void require_many(const CollectiveCall& call, int size) {
  require_alike(call.many);
  if (call.kind == CollectiveKind::kAllReduceMany) return;
  int64_t total = 0;
  for (const auto& tensor : call.many) total += tensor.numel();
  require(call.output.defined() && call.output.is_contiguous(), "The output of a collective is not contiguous.");
  if (call.kind == CollectiveKind::kAllGatherMany) require(call.output.numel() == total * size, kOtherArrival);
  else require(total == call.output.numel() * size, kOtherShare);
  for (const auto& tensor : call.many) {
    require(tensor.scalar_type() == call.output.scalar_type() && tensor.device() == call.output.device(),
            "Input and output of a collective do not have the same element type and device.");
  }
}

}  // namespace

bool takes_many(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduceMany:
    case CollectiveKind::kReduceScatterMany:
    case CollectiveKind::kAllGatherMany: return true;
    default: return false;
  }
}

void join_many(CollectiveCall& call) {
  const c10::InferenceMode guard;
  std::vector<at::Tensor> flat;
  for (const auto& tensor : call.many) flat.push_back(tensor.view({-1}));
  call.input = at::cat(flat);
  call.many.clear();
  const bool is_gather = call.kind == CollectiveKind::kAllGatherMany;
  call.kind = is_gather ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter;
}

bool needs_all(const CollectiveCall& call) {
  const auto has_elements = [](const at::Tensor& tensor) { return tensor.numel() > 0; };
  switch (call.kind) {
    case CollectiveKind::kReceive: return true;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter: return has_elements(call.input);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll: return has_elements(call.input) && call.counts.empty();
    case CollectiveKind::kAllReduceMany:
    case CollectiveKind::kReduceScatterMany:
    case CollectiveKind::kAllGatherMany: return std::any_of(call.many.begin(), call.many.end(), has_elements);
    default: return false;
  }
}

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
  require(call.root >= 0 && call.root < size, "The root of a collective is not a rank of the group.");
  if (takes_many(call.kind)) return require_many(call, size);
  require(call.input.is_contiguous(), "The input of a collective is not contiguous.");
  if (call.output.defined()) {
    require(call.output.is_contiguous(), "The output of a collective is not contiguous.");
    require(call.output.scalar_type() == call.input.scalar_type(),
            "Input and output of a collective do not have the same element type.");
    require(call.output.device() == call.input.device(),
            "Input and output of a collective are not on the same device.");
  }
  const auto ranks = static_cast<int64_t>(size);
  switch (call.kind) {
    case CollectiveKind::kAllReduce: return require(has_elements(call.output, call.input.numel()), kOtherSize);
    case CollectiveKind::kReduce:
      return require(rank != call.root || has_elements(call.output, call.input.numel()), kOtherSize);
    case CollectiveKind::kReduceScatter:
      require(call.input.numel() % ranks == 0, "The elements of a tensor cannot be divided equally over the ranks.");
      return require(has_elements(call.output, call.input.numel() / ranks), kOtherShare);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll: return require_parts(call, rank, static_cast<size_t>(size));
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive: return require(call.root != rank, "another rank");
    default: return;
  }
}

}  // namespace acc
