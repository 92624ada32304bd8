#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <optional>
#include <tuple>

#include "engine/kernels/attention/call.h"

namespace acc::attention {

// The highest number that a mask has for each query among the keys that it sees.
inline at::Tensor highest_of(const at::Tensor& mask, const Inputs& inputs) {
  if (!inputs.is_causal || mask.size(3) == 1) return mask.amax(-1, true);
  const int64_t queries = inputs.q.size(2), keys = mask.size(3);
  const auto on_device = mask.options().dtype(at::kLong);
  if (mask.size(2) == 1) {
    const auto last_seen = at::arange(queries, on_device).clamp_max(keys - 1);
    return std::get<0>(mask.cummax(-1)).index_select(-1, last_seen).transpose(-2, -1);
  }
  const auto is_later = at::arange(keys, on_device) > at::arange(queries, on_device).unsqueeze(1);
  return mask.masked_fill(is_later, -std::numeric_limits<float>::infinity()).amax(-1, true);
}

// What is taken off the mask of each query before it is added, `[batch, heads, queries, 1]` or
// broadcast to that, in float32. None if it is 0 for all.
//
// A query that sees no key has a low number for all keys, -1e9 for example. Sums of scores and such
// numbers have few digits of the scores or none, and the logarithm of the sum of their exponentials
// does not give weights back: with -1e9 it is rounded to a multiple of 64. Therefore the highest
// number of such a query is taken off, and scores are rounded as the sums would be.
inline std::optional<at::Tensor> shifts_of(const Inputs& inputs) {
  // Up to here the logarithm is as exact as weights.
  constexpr double kLarge = 16;
  if (!inputs.mask || inputs.mask->numel() == 0) return std::nullopt;
  const auto highest = highest_of(inputs.mask->to(at::kFloat), inputs);
  const auto is_large = highest.abs().gt(kLarge).logical_and(highest.isfinite());
  if (!is_large.any().item<bool>()) return std::nullopt;
  return at::where(is_large, highest, at::zeros({}, highest.options())).clamp(-kLargestShift, kLargestShift);
}

}  // namespace acc::attention
