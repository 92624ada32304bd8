#pragma once

#include "engine/kernels/recurrent/rows.h"

#ifdef ACC_HAS_AVX512

// The cell of a GRU: gates z, r and the candidate, each `width` columns.
namespace acc::recurrent {

// `gates` [B, 3H] holds the inputs' part on entry, and the results of the activations on exit.
template <typename Word>
struct GruCell {
  Rows<Word> gates, before, reset, h;
  int64_t width;

  // The sums are the state's parts of z and r. Computes r·h, too.
  ACC_AVX512 void compute_gates(const Sums& sums, Activations activations) const {
    for (int64_t i = 0; i < sums.rows; ++i) {
      for (int64_t j = sums.column; j < sums.end; j += kLanes) {
        const auto mask = avx512::lanes_below(sums.end - j);
        auto* const at = gates.at(sums, i, j);
        prefetch_next(gates, sums, i, j, 3, width);
        const auto z = activate(activations.of_gates, _mm512_add_ps(Word::load_numbers(at, mask), _mm512_load_ps(sums.at(0, i, j))));
        const auto r = activate(activations.of_gates, _mm512_add_ps(Word::load_numbers(at + width, mask), _mm512_load_ps(sums.at(1, i, j))));
        Word::store_numbers(at, mask, z);
        Word::store_numbers(at + width, mask, r);
        Word::store_numbers(reset.at(sums, i, j), mask, _mm512_mul_ps(r, Word::load_numbers(before.at(sums, i, j), mask)));
      }
    }
  }

  // The sums are the state's part of the candidate. The new state is libtorch's form of a linear
  // interpolation (lerp), which is exact at both ends.
  ACC_AVX512 void compute_state(const Sums& sums, Activations activations) const {
    const auto half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1.f);
    for (int64_t i = 0; i < sums.rows; ++i) {
      for (int64_t j = sums.column; j < sums.end; j += kLanes) {
        const auto mask = avx512::lanes_below(sums.end - j);
        auto* const at = gates.at(sums, i, j);
        const auto argument = _mm512_add_ps(Word::load_numbers(at + 2 * width, mask), _mm512_load_ps(sums.at(0, i, j)));
        const auto candidate = activate(activations.of_state, argument);
        const auto z = Word::load_numbers(at, mask), previous = Word::load_numbers(before.at(sums, i, j), mask);
        const auto change = _mm512_sub_ps(previous, candidate);
        const auto from_candidate = _mm512_fmadd_ps(z, change, candidate);
        const auto from_previous = _mm512_fmadd_ps(_mm512_sub_ps(z, one), change, previous);
        const auto is_low = _mm512_cmp_ps_mask(z, half, _CMP_LT_OQ);
        Word::store_numbers(at + 2 * width, mask, candidate);
        Word::store_numbers(h.at(sums, i, j), mask, _mm512_mask_mov_ps(from_previous, is_low, from_candidate));
      }
    }
  }
};

// `kept` is the part of the gradient of h that passes by the candidate. `dy` is the gradient from the
// sequence, or null. `grads` [B, 3H] gets the gradients of the gates before their activations.
template <typename Word>
struct GruBackwardCell {
  Rows<Word> gates, before, dy, grads;
  Rows<product::Floats> kept;
  int64_t width;
  BiasSums bias;

  // The sums are the gradient of h from the next step, without the part that `kept` holds on entry.
  ACC_AVX512 void compute_state(const Sums& sums, Activations activations) const {
    if (dy.data) add_rows(sums, dy);
    for (int64_t i = 0; i < sums.rows; ++i) {
      for (int64_t j = sums.column; j < sums.end; j += kLanes) {
        const auto mask = avx512::lanes_below(sums.end - j);
        const auto* const gate = gates.at(sums, i, j);
        prefetch_next(gates, sums, i, j, 3, width);
        const auto z = Word::load_numbers(gate, mask), candidate = Word::load_numbers(gate + 2 * width, mask);
        const auto dh = _mm512_add_ps(load_floats(kept.at(sums, i, j), mask), _mm512_load_ps(sums.at(0, i, j)));
        const auto previous = Word::load_numbers(before.at(sums, i, j), mask);
        const auto passed = _mm512_mul_ps(dh, z);
        const auto of_z = _mm512_mul_ps(_mm512_sub_ps(previous, candidate), dh);
        _mm512_mask_storeu_ps(kept.at(sums, i, j), mask, passed);
        store(sums, i, j, 0, mask, activate_backward(activations.of_gates, of_z, z));
        store(sums, i, j, 2, mask, activate_backward(activations.of_state, _mm512_sub_ps(dh, passed), candidate));
      }
    }
  }

  // The sums are the gradient of r·h.
  ACC_AVX512 void compute_reset(const Sums& sums, Activations activations) const {
    for (int64_t i = 0; i < sums.rows; ++i) {
      for (int64_t j = sums.column; j < sums.end; j += kLanes) {
        const auto mask = avx512::lanes_below(sums.end - j);
        const auto r = Word::load_numbers(gates.at(sums, i, j) + width, mask);
        const auto of_reset = _mm512_load_ps(sums.at(0, i, j));
        const auto previous = Word::load_numbers(before.at(sums, i, j), mask);
        float* const passed = kept.at(sums, i, j);
        _mm512_mask_storeu_ps(passed, mask, _mm512_fmadd_ps(of_reset, r, load_floats(passed, mask)));
        store(sums, i, j, 1, mask, activate_backward(activations.of_gates, _mm512_mul_ps(of_reset, previous), r));
      }
    }
  }

 private:
  ACC_AVX512_INLINE void store(const Sums& sums, int64_t i, int64_t j, int64_t gate, __mmask16 mask, __m512 x) const {
    Word::store_numbers(grads.at(sums, i, j) + gate * width, mask, x);
    bias.add(sums, j + gate * width, mask, x);
  }
};

}  // namespace acc::recurrent

#endif
