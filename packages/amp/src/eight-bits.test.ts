import { afterEach, expect, it, vi } from 'vitest';
import type { StrategyContext } from '@acc/contract';
import { EightBits } from './eight-bits.js';
import { fp8 } from './fp8.js';
import { int8 } from './int8.js';
import { resolveAmpOptions } from './options.js';

afterEach(() => vi.restoreAllMocks());

const context = (precision: object, device: string, rank = 0) =>
  ({
    kernels: { backendName: 'acc', device, precision },
    collective: { rank },
    mesh: {},
  }) as unknown as StrategyContext;
const int8Layer = (how: 'instructions' | 'float32' | undefined, device = 'cpu', rank = 0) =>
  context({ int8Products: () => how }, device, rank);
const fp8Layer = (problem: string | undefined, device = 'cpu') =>
  context({ float8Problem: () => problem }, device);
const refused = expect.objectContaining({ code: 'ACC_PRECISION_UNSUPPORTED' }) as Error;
const products = (format = int8(0)) => new EightBits(undefined, format);
const float8 = () => fp8(resolveAmpOptions().fp8);

it('is refused on a device without products in 8 bits', () => {
  expect(() => products().attach(int8Layer(undefined, 'cuda'))).toThrowError(refused);
  expect(() => products(float8()).attach(fp8Layer('no kernel', 'cuda'))).toThrowError(refused);
});

it('warns the main process once that a CPU lacks the instructions', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  products().attach(int8Layer('float32', 'cpu', 1));
  products().attach(int8Layer('instructions'));
  products(float8()).attach(fp8Layer(undefined, 'cuda'));
  expect(warn).not.toHaveBeenCalled();
  for (const [bits, on] of [
    [products(), int8Layer('float32')],
    [products(float8()), fp8Layer(undefined)],
  ] as const)
    for (let i = 0; i < 2; i++) bits.attach(on);
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining("Use 'bf16' or 'no' here")],
    [expect.stringContaining("mixedPrecision 'fp8': CPUs emulate 8-bit floats")],
  ]);
});
