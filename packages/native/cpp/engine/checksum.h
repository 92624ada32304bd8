#pragma once

#include <cstddef>
#include <cstdint>

namespace acc {

// Whether this process has zlib.
bool has_checksum();

// The CRC-32 of zlib, of `size` bytes.
uint32_t checksum(const uint8_t* data, size_t size);

}  // namespace acc
