import type { CommHook } from '../comm-hook.js';

/**
 * Sends gradients as 16-bit floats, half the bytes. They are weighted first, so that their sum over
 * ranks is not larger than a gradient, as in PyTorch's fp16 and bf16 hooks.
 */
export function castHook(name: 'bf16' | 'fp16'): CommHook {
  const wireDtype = name === 'bf16' ? 'bfloat16' : 'float16';
  return {
    name,
    reduce: ({ gradsLocal, collective }) =>
      collective.allReduceAsync(gradsLocal, 'sum', { donate: true, agreed: true, wireDtype }),
  };
}
