#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <tuple>

#include "engine/kernels/attention/call.h"

// Attention in plain operators and float32, which allocates the scores. It is for masks with shifts
// where vectors.h does not fit: libtorch's attention has nothing like them. A query that sees no key,
// because all its numbers are -infinity, has the output 0, and 0 as logarithm.
namespace acc::attention::all_scores {

// Of groups of heads of queries that share a head of keys: a head of keys for each.
inline at::Tensor of_each_head(const at::Tensor& x, const Inputs& inputs) {
  const auto wide = x.to(at::kFloat);
  const int64_t group = inputs.q.size(1) / x.size(1);
  return group == 1 ? wide : wide.repeat_interleave(group, 1);
}

inline at::Tensor summed_groups(const at::Tensor& gradient, const at::Tensor& x) {
  if (gradient.size(1) == x.size(1)) return gradient;
  return gradient.unflatten(1, {x.size(1), gradient.size(1) / x.size(1)}).sum(2);
}

// The masked scores.
inline at::Tensor scores_of(const Inputs& inputs) {
  const auto products = at::matmul(inputs.q.to(at::kFloat), of_each_head(inputs.k, inputs).transpose(-2, -1));
  const auto& shifts = *inputs.shifts;
  const auto mask = inputs.mask->to(at::kFloat);
  const auto lowered = at::where(mask.isneginf(), mask, mask.clamp_min(-kLargestShift) - shifts);
  const auto scores = products.mul_(inputs.scale).add_(shifts).sub_(shifts).add_(lowered);
  if (!inputs.is_causal) return scores;
  const auto is_later = at::ones({scores.size(-2), scores.size(-1)}, scores.options().dtype(at::kBool)).triu(1);
  return scores.masked_fill(is_later, -std::numeric_limits<float>::infinity());
}

inline std::tuple<at::Tensor, at::Tensor> forward(const Inputs& inputs) {
  const auto scores = scores_of(inputs);
  const auto output = at::matmul(at::_safe_softmax(scores, -1), of_each_head(inputs.v, inputs));
  const auto sums = at::logsumexp(scores, -1);
  return {output.to(inputs.q.scalar_type()), sums.masked_fill(sums.isneginf(), 0)};
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> backward(const at::Tensor& given_dy, const Inputs& inputs) {
  const auto weights = at::_safe_softmax(scores_of(inputs), -1);
  const auto dy = given_dy.to(at::kFloat);
  const auto dweights = at::matmul(dy, of_each_head(inputs.v, inputs).transpose(-2, -1));
  const auto dscores = at::_softmax_backward_data(dweights, weights, -1, at::kFloat).mul_(inputs.scale);
  const auto dq = at::matmul(dscores, of_each_head(inputs.k, inputs));
  const auto dk = at::matmul(dscores.transpose(-2, -1), inputs.q.to(at::kFloat));
  const auto dv = at::matmul(weights.transpose(-2, -1), dy);
  const auto dtype = inputs.q.scalar_type();
  return {dq.to(dtype), summed_groups(dk, inputs.k).to(dtype), summed_groups(dv, inputs.v).to(dtype)};
}

}  // namespace acc::attention::all_scores
