#include "engine/kernels/recurrent/activation.h"

#include <ATen/ATen.h>

#include "engine/error.h"
#include "engine/processor/row_math.h"

namespace acc {
namespace {

// tfjs's hardSigmoid: 0.2 x + 0.5, clamped to [0, 1].
constexpr float kHardSlope = 0.2f;
constexpr float kHardMiddle = 0.5f;

ACC_EVERY_CPU void relu_row(float* x, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) x[i] = x[i] < 0.f ? 0.f : x[i];
}

ACC_EVERY_CPU void tanh_row(float* x, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) x[i] = rows::tanh(x[i]);
}

ACC_EVERY_CPU void sigmoid_row(float* x, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) x[i] = rows::sigmoid(x[i]);
}

ACC_EVERY_CPU void hard_sigmoid_row(float* x, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const float y = x[i] * kHardSlope + kHardMiddle;
    const float above = y < 0.f ? 0.f : y;
    x[i] = above > 1.f ? 1.f : above;
  }
}

ACC_EVERY_CPU void relu_backward_row(float* grad, const float* y, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) grad[i] = y[i] > 0.f ? grad[i] : 0.f;
}

ACC_EVERY_CPU void tanh_backward_row(float* grad, const float* y, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) grad[i] *= 1.f - y[i] * y[i];
}

ACC_EVERY_CPU void sigmoid_backward_row(float* grad, const float* y, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) grad[i] *= y[i] * (1.f - y[i]);
}

ACC_EVERY_CPU void hard_sigmoid_backward_row(float* grad, const float* y, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) grad[i] = (y[i] > 0.f) & (y[i] < 1.f) ? grad[i] * kHardSlope : 0.f;
}

}  // namespace

Activation activation_of(const std::string& name) {
  if (name == "linear") return Activation::kLinear;
  if (name == "relu") return Activation::kRelu;
  if (name == "tanh") return Activation::kTanh;
  if (name == "sigmoid") return Activation::kSigmoid;
  if (name == "hardSigmoid") return Activation::kHardSigmoid;
  throw Error(kOperatorArgument, "Recurrent operators do not support the activation '" + name + "'.");
}

void activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kLinear:
      return;
    case Activation::kRelu:
      x.relu_();
      return;
    case Activation::kTanh:
      x.tanh_();
      return;
    case Activation::kSigmoid:
      x.sigmoid_();
      return;
    case Activation::kHardSigmoid:
      x.mul_(kHardSlope).add_(kHardMiddle).clamp_(0, 1);
      return;
  }
}

void activate_to(Activation activation, at::Tensor out, const at::Tensor& x) {
  if (activation == Activation::kTanh) {
    at::tanh_out(out, x);
    return;
  }
  out.copy_(x);
  activate(activation, out);
}

void activate_backward(Activation activation, at::Tensor grad, const at::Tensor& y) {
  switch (activation) {
    case Activation::kLinear:
      return;
    case Activation::kRelu:
      at::threshold_backward_out(grad, grad, y, 0);
      return;
    case Activation::kTanh:
      at::tanh_backward_out(grad, grad, y);
      return;
    case Activation::kSigmoid:
      at::sigmoid_backward_out(grad, grad, y);
      return;
    case Activation::kHardSigmoid:
      at::hardtanh_backward_out(grad, grad, y, 0, 1);
      grad.mul_(kHardSlope);
      return;
  }
}

void activate(Activation activation, float* x, int64_t count) {
  switch (activation) {
    case Activation::kLinear:
      return;
    case Activation::kRelu:
      return relu_row(x, count);
    case Activation::kTanh:
      return tanh_row(x, count);
    case Activation::kSigmoid:
      return sigmoid_row(x, count);
    case Activation::kHardSigmoid:
      return hard_sigmoid_row(x, count);
  }
}

void activate_backward(Activation activation, float* grad, const float* y, int64_t count) {
  switch (activation) {
    case Activation::kLinear:
      return;
    case Activation::kRelu:
      return relu_backward_row(grad, y, count);
    case Activation::kTanh:
      return tanh_backward_row(grad, y, count);
    case Activation::kSigmoid:
      return sigmoid_backward_row(grad, y, count);
    case Activation::kHardSigmoid:
      return hard_sigmoid_backward_row(grad, y, count);
  }
}

}  // namespace acc
