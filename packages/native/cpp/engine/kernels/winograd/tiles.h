#pragma once

#include <cstdint>

#include "engine/kernels/winograd/transforms.h"
#include "engine/kernels/winograd/winograd.h"

// Where the tiles of images lie.
namespace acc::winograd {

// The tiles of a result, `side` × `side` pixels each. Those at the edges may be cut off.
struct Tiles {
  Tiles(int64_t images, int64_t height, int64_t width, int64_t side)
      : side(side), down((height + side - 1) / side), across((width + side - 1) / side), count(images * down * across) {}

  int64_t side, down, across, count;
};

// The pixels of a square of `kSide` × `kSide` whose first is (y, x), which may lie outside of the image.
template <int kSide, typename Float>
void find_pixels(Float* image, int64_t height, int64_t width, int64_t channels, int64_t first_y, int64_t first_x,
                 Float* outside, Float** pixels) {
  for (int64_t y = first_y; y < first_y + kSide; ++y) {
    const bool is_row_inside = y >= 0 && y < height;
    for (int64_t x = first_x; x < first_x + kSide; ++x) {
      const bool is_inside = is_row_inside && x >= 0 && x < width;
      *pixels++ = is_inside ? image + (y * width + x) * channels : outside;
    }
  }
}

// The pixels that tile `tile` reads or writes; all `outside` if there is no such tile.
template <int kSide, typename Float>
void find_tile(Float* data, int64_t height, int64_t width, int64_t channels, const Tiles& tiles, int64_t tile,
               int64_t pad_y, int64_t pad_x, Float* outside, Float** pixels) {
  if (tile >= tiles.count) {
    for (int i = 0; i < kSide * kSide; ++i) pixels[i] = outside;
    return;
  }
  const auto in_image = tile % (tiles.down * tiles.across), image = tile / (tiles.down * tiles.across);
  const auto y = in_image / tiles.across * tiles.side - pad_y, x = in_image % tiles.across * tiles.side - pad_x;
  find_pixels<kSide>(data + image * height * width * channels, height, width, channels, y, x, outside, pixels);
}

}  // namespace acc::winograd
