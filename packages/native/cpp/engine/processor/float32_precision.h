#pragma once

#include <string>

namespace acc {

// Sets how a backend of libtorch (mkldnn, cuda) computes float32 products, convolutions and
// recurrent layers: "ieee", "tf32", "bf16", or "default", which is libtorch's own choice.
void set_float32_precision(const std::string& backend_name, const std::string& name);

}  // namespace acc
