import { describe, expect, it } from 'vitest';
import { Choice, deviceCandidate } from './attention-candidates.js';

const inputs = (dim: number, queries = 8, mask: unknown = null) => ({
  q: { shape: [2, 4, queries, dim] },
  k: { shape: [2, 4, 8, dim] },
  v: { shape: [2, 4, 8, dim] },
  mask,
});

describe('attention on a device other than the CPU', () => {
  it.each([
    ['libtorch chooses flash', Choice.flash, inputs(64), true],
    ["libtorch chooses cuDNN's kernel", Choice.cudnn, inputs(64), true],
    ['the head has 256 elements', Choice.cudnn, inputs(256), false],
  ])('runs the flash kernel if %s', (_, choice, given, isCausal) => {
    expect(deviceCandidate(choice, given, isCausal)).toBe('flash');
  });

  it.each([
    ['libtorch chooses efficient, as in float32', Choice.efficient, inputs(64), true],
    ['there is a mask', Choice.cudnn, inputs(64, 8, {}), false],
    ['the head needs padding', Choice.flash, inputs(60), false],
    ['the head is too large', Choice.cudnn, inputs(264), false],
    ["the last query is not that of the last key, for cuDNN's kernel", Choice.cudnn, inputs(64, 4), true],
    [
      'queries and values differ in length',
      Choice.cudnn,
      { ...inputs(64), v: { shape: [2, 4, 8, 32] } },
      true,
    ],
  ])('runs the efficient kernel if %s', (_, choice, given, isCausal) => {
    expect(deviceCandidate(choice, given, isCausal)).toBe('efficient');
  });
});
