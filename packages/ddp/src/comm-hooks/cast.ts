import type { CommHook } from '../comm-hook.js';

/**
 * Gradients travel as 16-bit floats, half the bytes. They are weighted before, so that their sum over ranks is no larger than a
 * gradient, as PyTorch's fp16 and bf16 hooks have it.
 */
export function castHook(name: 'bf16' | 'fp16'): CommHook {
  const wireDtype = name === 'bf16' ? 'bfloat16' : 'float16';
  return {
    name,
    reduce: ({ gradsLocal, collective }) =>
      collective.allReduceAsync(gradsLocal, 'sum', { donate: true, agreed: true, wireDtype }),
  };
}
