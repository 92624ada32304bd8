// The operator acc::note_indices. It notes on the device how far indices were outside of their range,
// so that nobody waits for them. packages/kernels/src/families/index-checks.ts reads the notes.

#include <ATen/ATen.h>
#include <torch/library.h>

namespace acc {
namespace {

// A row of `notes`, int64 [places, 2], has how far any index was below 0, and how far beyond `size - 1`.
void note_indices(const at::Tensor& notes, const at::Tensor& indices, int64_t place, int64_t size) {
  const auto [lowest, highest] = indices.aminmax();
  const auto below = lowest.to(at::kLong).neg(), beyond = highest.to(at::kLong) - (size - 1);
  const auto note = notes.select(0, place);
  note.copy_(at::maximum(note, at::stack({below, beyond})));
}

}  // namespace
}  // namespace acc

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("note_indices(Tensor(a!) notes, Tensor indices, int place, int size) -> ()", acc::note_indices);
}
