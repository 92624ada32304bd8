#include "engine/groups/shm/collectives.h"

#include <algorithm>
#include <cstring>

namespace acc::shm {
namespace {

constexpr size_t kLine = 64;

size_t aligned(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
size_t steps_for(size_t bytes, size_t of_a_step) { return (bytes + of_a_step - 1) / of_a_step; }

const uint8_t* bytes_at(const void* data, size_t offset) { return static_cast<const uint8_t*>(data) + offset; }
uint8_t* bytes_at(void* data, size_t offset) { return static_cast<uint8_t*>(data) + offset; }

void copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

void require_same_call(Ranks& ranks) {
  Mismatch found;
  if (!ranks.is_same_call(found.words)) throw found;
}

// Makes one step. In the first step of a call it compares the calls.
void exchange(Ranks& ranks, bool is_first) {
  ranks.publish();
  ranks.wait_for_all();
  if (is_first) require_same_call(ranks);
}

// Copies memory into this rank's buffer for the next step, at offset `at`.
void show(Ranks& ranks, size_t at, const void* from, size_t bytes) {
  ranks.writer().timed(bytes, [&] { ranks.writer().copy(ranks.buffer() + at, from, bytes); });
}

// The part of a chunk of `bytes` bytes that rank `slice` reduces.
struct Slice {
  size_t start;
  size_t bytes;
};
Slice slice_of(size_t bytes, int size, int slice) {
  const size_t width = aligned((bytes + size - 1) / size);
  const size_t start = std::min(width * slice, bytes);
  return {start, std::min(width, bytes - start)};
}

// Up to this size, every rank reads the whole input of all others instead of one slice. That takes
// one step instead of two.
constexpr size_t kSmallBytes = 32 * 1024;

void show(Ranks& ranks, size_t at, const Pieces& from, size_t start, size_t bytes) {
  auto& writer = ranks.writer();
  writer.timed(bytes, [&] {
    from.visit(start, bytes, [&](const uint8_t* data, size_t offset, size_t size) {
      writer.copy(ranks.buffer() + at + offset, data, size);
    });
  });
}

// Reduces `bytes` bytes of each source into `out` and copies the result to `shown`. It works in
// parts, so each part is still in the L1 cache when it is copied. It advances `sources`.
void reduce_and_show(Ranks& ranks, std::vector<const void*>& sources, uint8_t* out, uint8_t* shown, size_t bytes,
                     Element element, Op op) {
  constexpr size_t kPart = 16 * 1024;
  for (size_t start = 0; start < bytes; start += kPart) {
    const size_t part = std::min(kPart, bytes - start);
    reduce(sources.data(), ranks.size(), out + start, part / bytes_of(element), element, op);
    ranks.writer().copy(shown + start, out + start, part);
    for (auto& source : sources) source = bytes_at(source, part);
  }
}

void copy_in(const Pieces& to, const void* from, size_t start, size_t bytes) {
  to.visit(start, bytes, [&](uint8_t* data, size_t offset, size_t size) { copy(data, bytes_at(from, offset), size); });
}

void all_reduce_small(Ranks& ranks, const Pieces& input, const Pieces& output, Element element, Op op) {
  show(ranks, 0, input, 0, input.bytes());
  exchange(ranks, true);
  std::vector<const void*> sources(ranks.size());
  output.visit(0, output.bytes(), [&](uint8_t* out, size_t offset, size_t bytes) {
    for (int rank = 0; rank < ranks.size(); ++rank) sources[rank] = ranks.buffer_of(rank) + offset;
    reduce(sources.data(), ranks.size(), out, bytes / bytes_of(element), element, op);
  });
}

}  // namespace

// Each chunk takes two steps, which overlap with those of its neighbours. In the first step each
// rank shows the slices that the others reduce. Then each rank reduces its own slice of all ranks
// and shows the result in the second step. Then each rank copies the others' results. The buffer of
// a step holds the input of the next chunk, followed by the result of the current one.
void all_reduce(Ranks& ranks, const Pieces& input, const Pieces& output, Element element, Op op) {
  const size_t total = input.bytes();
  const int size = ranks.size();
  const int own = ranks.rank();
  if (size == 1) {
    exchange(ranks, true);
    return output.visit(0, total, [&](uint8_t* to, size_t offset, size_t bytes) {
      input.visit(offset, bytes, [&](const uint8_t* from, size_t at, size_t part) { copy(to + at, from, part); });
    });
  }
  if (total <= kSmallBytes) return all_reduce_small(ranks, input, output, element, op);
  const size_t result_bytes = Segment::kStepBytes / (size + 1) / kLine * kLine;
  const size_t chunk = result_bytes * size;
  const size_t results = chunk;  // offset in the buffer
  const size_t chunks = steps_for(total, chunk);
  const auto bytes_of_chunk = [&](size_t c) { return std::min(chunk, total - c * chunk); };
  const auto show_input = [&](size_t c) {
    for (int rank = 0; rank < size; ++rank) {
      if (rank == own) continue;
      const auto slice = slice_of(bytes_of_chunk(c), size, rank);
      show(ranks, slice.start, input, c * chunk + slice.start, slice.bytes);
    }
  };
  const auto combine = [&](size_t c) {
    const auto slice = slice_of(bytes_of_chunk(c), size, own);
    const size_t at = c * chunk + slice.start;
    std::vector<const void*> sources(size);
    // `input` and `output` are divided in the same way.
    output.visit(at, slice.bytes, [&](uint8_t* out, size_t offset, size_t bytes) {
      for (int rank = 0; rank < size; ++rank) sources[rank] = ranks.buffer_of(rank) + slice.start + offset;
      input.visit(at + offset, bytes, [&](const uint8_t* data, size_t, size_t) { sources[own] = data; });
      reduce_and_show(ranks, sources, out, ranks.buffer() + results + offset, bytes, element, op);
    });
  };
  const auto fetch = [&](size_t c) {
    for (int i = 1; i < size; ++i) {
      // The ranks start with different peers, so they do not all read from the same one at once.
      const int rank = (own + i) % size;
      const auto slice = slice_of(bytes_of_chunk(c), size, rank);
      copy_in(output, ranks.buffer_of(rank) + results, c * chunk + slice.start, slice.bytes);
    }
  };
  show_input(0);
  exchange(ranks, true);
  for (size_t c = 0; c < chunks; ++c) {
    // If input and output are the same memory, combine() overwrites the input of this chunk only.
    combine(c);
    if (c + 1 < chunks) show_input(c + 1);
    if (c > 0) fetch(c - 1);
    exchange(ranks, false);
  }
  fetch(chunks - 1);
}

void reduce_to(Ranks& ranks, const void* input, void* output, size_t count, Element element, Op op, int root) {
  const size_t total = count * bytes_of(element);
  const size_t steps = std::max<size_t>(steps_for(total, Segment::kStepBytes), 1);
  for (size_t s = 0; s < steps; ++s) {
    const size_t start = s * Segment::kStepBytes;
    const size_t bytes = std::min(Segment::kStepBytes, total - start);
    if (ranks.rank() != root) show(ranks, 0, bytes_at(input, start), bytes);
    exchange(ranks, s == 0);
    if (ranks.rank() != root) continue;
    std::vector<const void*> sources(ranks.size());
    for (int rank = 0; rank < ranks.size(); ++rank) {
      sources[rank] = rank == root ? bytes_at(input, start) : ranks.buffer_of(rank);
    }
    reduce(sources.data(), ranks.size(), bytes_at(output, start), bytes / bytes_of(element), element, op);
  }
}

void reduce_scatter(Ranks& ranks, const Pieces& input, void* output, size_t count, Element element, Op op) {
  const int own = ranks.rank();
  const size_t part = count * bytes_of(element);
  const size_t room = Segment::kStepBytes / ranks.size() / kLine * kLine;
  const size_t steps = std::max<size_t>(steps_for(part, room), 1);
  for (size_t s = 0; s < steps; ++s) {
    const size_t start = s * room;
    const size_t bytes = std::min(room, part - start);
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (rank != own) show(ranks, room * rank, input, part * rank + start, bytes);
    }
    exchange(ranks, s == 0);
    std::vector<const void*> sources(ranks.size());
    input.visit(part * own + start, bytes, [&](const uint8_t* data, size_t offset, size_t size) {
      for (int rank = 0; rank < ranks.size(); ++rank) sources[rank] = ranks.buffer_of(rank) + room * own + offset;
      sources[own] = data;
      reduce(sources.data(), ranks.size(), bytes_at(output, start + offset), size / bytes_of(element), element, op);
    });
  }
}

void broadcast(Ranks& ranks, void* data, size_t bytes, int root) {
  const size_t steps = std::max<size_t>(steps_for(bytes, Segment::kStepBytes), 1);
  for (size_t s = 0; s < steps; ++s) {
    const size_t start = s * Segment::kStepBytes;
    const size_t size = std::min(Segment::kStepBytes, bytes - start);
    if (ranks.rank() == root) show(ranks, 0, bytes_at(data, start), size);
    exchange(ranks, s == 0);
    if (ranks.rank() != root) copy(bytes_at(data, start), ranks.buffer_of(root), size);
  }
}

void all_gather(Ranks& ranks, const Pieces& input, void* output, const std::vector<size_t>& bytes) {
  const size_t most = *std::max_element(bytes.begin(), bytes.end());
  const size_t steps = std::max<size_t>(steps_for(most, Segment::kStepBytes), 1);
  const auto part_of = [&](int rank, size_t start) {
    return start < bytes[rank] ? std::min(Segment::kStepBytes, bytes[rank] - start) : 0;
  };
  for (size_t s = 0; s < steps; ++s) {
    const size_t start = s * Segment::kStepBytes;
    const size_t own = part_of(ranks.rank(), start);
    show(ranks, 0, input, start, own);
    exchange(ranks, s == 0);
    size_t at = start;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      uint8_t* to = bytes_at(output, at);
      if (rank == ranks.rank()) {
        input.visit(start, own, [&](const uint8_t* data, size_t offset, size_t part) { copy(to + offset, data, part); });
      } else {
        copy(to, ranks.buffer_of(rank), part_of(rank, start));
      }
      at += bytes[rank];
    }
  }
}

void all_to_all(Ranks& ranks, const void* input, void* output, const std::vector<size_t>& sent,
                const std::vector<size_t>& received, size_t most) {
  const size_t room = Segment::kStepBytes / ranks.size() / kLine * kLine;
  const size_t steps = std::max<size_t>(steps_for(most, room), 1);
  const auto part_of = [&](size_t total, size_t start) { return start < total ? std::min(room, total - start) : 0; };
  for (size_t s = 0; s < steps; ++s) {
    const size_t start = s * room;
    size_t from = start;
    const void* own = nullptr;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (rank == ranks.rank()) own = bytes_at(input, from);
      else show(ranks, room * rank, bytes_at(input, from), part_of(sent[rank], start));
      from += sent[rank];
    }
    exchange(ranks, s == 0);
    size_t to = start;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const void* source = rank == ranks.rank() ? own : ranks.buffer_of(rank) + room * ranks.rank();
      copy(bytes_at(output, to), source, part_of(received[rank], start));
      to += received[rank];
    }
  }
}

}  // namespace acc::shm
