#pragma once

#include <cstddef>
#include <cstdint>

namespace acc {

// Whether this process provides zlib's CRC-32 function.
bool has_checksum();

// The CRC-32 of `size` bytes, as zlib defines it.
uint32_t checksum(const uint8_t* data, size_t size);

}  // namespace acc
