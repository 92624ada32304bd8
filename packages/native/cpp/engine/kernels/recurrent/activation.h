#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace acc {

// Activations of recurrent layers. The derivative of each is computed from its result.
enum class Activation { kLinear, kRelu, kTanh, kSigmoid, kHardSigmoid };

// Finds an activation by its name in tfjs. Throws ACC_OPERATOR_ARGUMENT.
Activation activation_of(const std::string& name);

// Works in place.
void activate(Activation activation, const at::Tensor& x);
void activate_to(Activation activation, at::Tensor out, const at::Tensor& x);
// Turns the gradient of the result `y` into the gradient of the input, in place.
void activate_backward(Activation activation, at::Tensor grad, const at::Tensor& y);

// The same for a row of `count` floats.
void activate(Activation activation, float* x, int64_t count);
void activate_backward(Activation activation, float* grad, const float* y, int64_t count);

}  // namespace acc
