#pragma once

#include <string>

namespace acc {

// How a backend of libtorch (mkldnn, cuda) computes products and convolutions of float32: "ieee", "tf32", "bf16", or "default",
// as it does by itself.
void set_float32_precision(const std::string& backend_name, const std::string& name);

}  // namespace acc
