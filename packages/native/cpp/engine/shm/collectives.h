#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/shm/pieces.h"
#include "engine/shm/ranks.h"
#include "engine/shm/reduce.h"

// The collectives, on memory of the caller. Every rank calls the same one; begin_call came before. The first step carries
// the calls' descriptions: each throws ACC_COLLECTIVE_MISMATCH at it, on every rank, before it touches results. Inputs and
// results may be the same memory.
namespace acc::shm {

// Ranks called different things: kCallWords of each.
struct Mismatch {
  std::vector<int32_t> words;
};

// `input` and `output` are cut into pieces alike.
void all_reduce(Ranks& ranks, const Pieces& input, const Pieces& output, Element element, Op op);
// `output` on rank `root` only.
void reduce_to(Ranks& ranks, const void* input, void* output, size_t count, Element element, Op op, int root);
// `input` is `size` times `count` elements; this rank gets its part of their combination.
void reduce_scatter(Ranks& ranks, const void* input, void* output, size_t count, Element element, Op op);
void broadcast(Ranks& ranks, void* data, size_t bytes, int root);
// `bytes[r]` bytes of rank r, one after the other.
void all_gather(Ranks& ranks, const void* input, void* output, const std::vector<size_t>& bytes);
// `sent[r]` bytes to rank r and `received[r]` from it; `most` is the most that any rank sends to any other.
void all_to_all(Ranks& ranks, const void* input, void* output, const std::vector<size_t>& sent,
                const std::vector<size_t>& received, size_t most);

}  // namespace acc::shm
