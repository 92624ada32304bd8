import { afterEach, expect, it, vi } from 'vitest';
import type { KernelLayer } from '@acc/contract';
import { Int8 } from './int8.js';

afterEach(() => vi.restoreAllMocks());

const layer = (how: 'instructions' | 'float32' | undefined, device = 'cpu') =>
  ({ backendName: 'acc', device, precision: { int8Products: () => how } }) as unknown as KernelLayer;

it('is refused on a device without products in 8 bits', () => {
  const refused = expect.objectContaining({ code: 'ACC_PRECISION_UNSUPPORTED' }) as Error;
  expect(() => new Int8(undefined, 0).attach(layer(undefined, 'cuda'), true)).toThrowError(refused);
});

it('warns the main process once that a CPU lacks the instructions', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  new Int8(undefined, 0).attach(layer('float32'), false);
  new Int8(undefined, 0).attach(layer('instructions'), true);
  expect(warn).not.toHaveBeenCalled();
  const int8 = new Int8(undefined, 0);
  for (let i = 0; i < 2; i++) int8.attach(layer('float32'), true);
  expect(warn.mock.calls).toEqual([[expect.stringContaining("Use 'bf16' or 'no' here")]]);
});
