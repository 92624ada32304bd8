#pragma once

#include "engine/kernels/recurrent/rows.h"

#ifdef ACC_HAS_AVX512

// The cell of an LSTM: gates i, f, candidate, o, each `width` columns.
namespace acc::recurrent {

// `gates` [B, 4H] holds the inputs' part on entry, and the results of the activations on exit. The sums are
// the states' parts of the four gates.
template <typename Word>
struct LstmCell {
  Rows<Word> gates, before, c, h;
  int64_t width;

  void compute(const Sums& sums, Activations activations) const {
    for (int64_t i = 0; i < sums.rows; ++i) {
      compute_gates(sums, i, activations);
      // In a loop of its own, because it would wait for the state.
      compute_state(sums, i, activations);
    }
  }

 private:
  ACC_AVX512 void compute_gates(const Sums& sums, int64_t i, Activations activations) const {
    for (int64_t j = sums.column; j < sums.end; j += kLanes) {
      const auto mask = avx512::lanes_below(sums.end - j);
      auto* const at = gates.at(sums, i, j);
      prefetch_next(gates, sums, i, j, 4, width);
      const auto in = activate(activations.of_gates, sum_of(sums, 0, i, j, at, mask));
      const auto forget = activate(activations.of_gates, sum_of(sums, 1, i, j, at + width, mask));
      const auto candidate = activate(activations.of_state, sum_of(sums, 2, i, j, at + 2 * width, mask));
      const auto out = activate(activations.of_gates, sum_of(sums, 3, i, j, at + 3 * width, mask));
      const auto kept = _mm512_mul_ps(forget, Word::load_numbers(before.at(sums, i, j), mask));
      const auto state = _mm512_fmadd_ps(in, candidate, kept);
      Word::store_numbers(at, mask, in);
      Word::store_numbers(at + width, mask, forget);
      Word::store_numbers(at + 2 * width, mask, candidate);
      Word::store_numbers(at + 3 * width, mask, out);
      Word::store_numbers(c.at(sums, i, j), mask, state);
      _mm512_store_ps(sums.at(0, i, j), state);
      _mm512_store_ps(sums.at(3, i, j), out);
    }
  }

  ACC_AVX512 void compute_state(const Sums& sums, int64_t i, Activations activations) const {
    for (int64_t j = sums.column; j < sums.end; j += kLanes) {
      const auto of_state = activate(activations.of_state, _mm512_load_ps(sums.at(0, i, j)));
      Word::store_numbers(h.at(sums, i, j), avx512::lanes_below(sums.end - j), _mm512_mul_ps(of_state, _mm512_load_ps(sums.at(3, i, j))));
    }
  }

  ACC_AVX512_INLINE static __m512 sum_of(const Sums& sums, int64_t matrix, int64_t i, int64_t j,
                                         const typename Word::Number* more, __mmask16 mask) {
    return _mm512_add_ps(Word::load_numbers(more, mask), _mm512_load_ps(sums.at(matrix, i, j)));
  }
};

// The sums are the gradient of h from the next step. `dy` is that from the sequence, or null. `dc` goes from
// step to step. `grads` [B, 4H] gets the gradients of the gates before their activations.
template <typename Word>
struct LstmBackwardCell {
  Rows<Word> gates, before, c, dy, grads;
  Rows<product::Floats> dc;
  int64_t width;
  BiasSums bias;

  void compute(const Sums& sums, Activations activations) const {
    if (dy.data) add_rows(sums, dy);
    for (int64_t i = 0; i < sums.rows; ++i) compute_row(sums, i, activations);
  }

 private:
  ACC_AVX512 void compute_row(const Sums& sums, int64_t i, Activations activations) const {
    for (int64_t j = sums.column; j < sums.end; j += kLanes) {
      const auto mask = avx512::lanes_below(sums.end - j);
      const auto* const gate = gates.at(sums, i, j);
      prefetch_next(gates, sums, i, j, 4, width);
      const auto in = Word::load_numbers(gate, mask), forget = Word::load_numbers(gate + width, mask);
      const auto candidate = Word::load_numbers(gate + 2 * width, mask), out = Word::load_numbers(gate + 3 * width, mask);
      const auto dh = _mm512_load_ps(sums.at(0, i, j));
      const auto of_c = activate(activations.of_state, Word::load_numbers(c.at(sums, i, j), mask));
      const auto through = activate_backward(activations.of_state, _mm512_mul_ps(dh, out), of_c);
      const auto d_state = _mm512_add_ps(load_floats(dc.at(sums, i, j), mask), through);
      const auto previous = Word::load_numbers(before.at(sums, i, j), mask);
      const auto d_in = activate_backward(activations.of_gates, _mm512_mul_ps(d_state, candidate), in);
      const auto d_forget = activate_backward(activations.of_gates, _mm512_mul_ps(d_state, previous), forget);
      const auto d_candidate = activate_backward(activations.of_state, _mm512_mul_ps(d_state, in), candidate);
      const auto d_out = activate_backward(activations.of_gates, _mm512_mul_ps(dh, of_c), out);
      _mm512_mask_storeu_ps(dc.at(sums, i, j), mask, _mm512_mul_ps(d_state, forget));
      store(sums, i, j, 0, mask, d_in);
      store(sums, i, j, 1, mask, d_forget);
      store(sums, i, j, 2, mask, d_candidate);
      store(sums, i, j, 3, mask, d_out);
    }
  }

  ACC_AVX512_INLINE void store(const Sums& sums, int64_t i, int64_t j, int64_t gate, __mmask16 mask, __m512 x) const {
    Word::store_numbers(grads.at(sums, i, j) + gate * width, mask, x);
    bias.add(sums, j + gate * width, mask, x);
  }
};

}  // namespace acc::recurrent

#endif
