import type { CommHook } from '../comm-hook.js';

/**
 * Sends gradients as 16-bit floats, half the bytes. They are weighted first, so that their sum over
 * ranks is not larger than a gradient, as in PyTorch's fp16 and bf16 hooks.
 */
export function castHook(name: 'bf16' | 'fp16'): CommHook {
  const wireDtype = name === 'bf16' ? 'bfloat16' : 'float16';
  const hook: CommHook = {
    name,
    reduce: ({ gradsLocal, collective }) =>
      collective.allReduceAsync(gradsLocal, 'sum', { donate: true, agreed: true, wireDtype }),
  };
  casts.add(hook);
  return hook;
}

const casts = new WeakSet<CommHook>();

/** Whether a hook only rounds each gradient. Other hooks may look at all gradients of a bucket. */
export const isCast = (hook: CommHook): boolean => casts.has(hook);
