#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/groups/shm/pieces.h"
#include "engine/groups/shm/ranks.h"
#include "engine/groups/shm/reduce.h"

// The collectives, on the caller's memory. Every rank calls the same one, after Ranks::begin_call.
// The first step carries the descriptions of the calls. If they differ, every rank throws Mismatch
// after that step, before it writes any result. Input and result may be the same memory.
namespace acc::shm {

// Thrown when ranks made different calls. `words` holds kCallWords of each rank.
struct Mismatch {
  std::vector<int32_t> words;
};

// `input` and `output` are divided into pieces of the same sizes.
void all_reduce(Ranks& ranks, const Pieces& input, const Pieces& output, Element element, Op op);
// Only rank `root` writes `output`.
void reduce_to(Ranks& ranks, const void* input, void* output, size_t count, Element element, Op op, int root);
// `input` has `size` parts of `count` elements. Rank r gets the reduction of every rank's part r.
void reduce_scatter(Ranks& ranks, const Pieces& input, void* output, size_t count, Element element, Op op);
void broadcast(Ranks& ranks, void* data, size_t bytes, int root);
// Rank r contributes `bytes[r]` bytes. `output` holds the contributions in the order of ranks.
void all_gather(Ranks& ranks, const Pieces& input, void* output, const std::vector<size_t>& bytes);
// Sends `sent[r]` bytes to rank r and receives `received[r]` bytes from it. `most` is the largest
// number of bytes that any rank sends to any other.
void all_to_all(Ranks& ranks, const void* input, void* output, const std::vector<size_t>& sent,
                const std::vector<size_t>& received, size_t most);

}  // namespace acc::shm
