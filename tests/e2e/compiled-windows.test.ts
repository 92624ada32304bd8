import { describe, expect, it } from 'vitest';
import { onRanks } from './on-ranks.js';
import { SAME_KERNELS } from './same-kernels.js';
import type { Case, Trained } from './ranks/compiled-windows.js';

const steps = (gradientAccumulationSteps: number) => ({ gradientAccumulationSteps });
const clipping = { gradientClipping: { norm: 0.3, value: 0.2 } };

const CASES: Readonly<Record<string, Case>> = {
  'ddp, windows of two': { options: steps(2) },
  'ddp, windows of three, clipped': { options: { ...steps(3), ...clipping } },
  'ddp, accumulate inside of the step': { options: { ...steps(3), ...clipping }, isInside: true },
  'ddp with syncAt apply': { options: { ...steps(2), ddp: { syncAt: 'apply' } } },
  'ddp in bfloat16': { options: { ...steps(2), mixedPrecision: 'bf16' } },
  'ddp with a loss scale': {
    options: { ...steps(2), ...clipping, mixedPrecision: 'fp16', amp: { lossScale: { initial: 64 } } },
  },
  'fsdp, stage 1': { options: { ...steps(2), strategy: 'fsdp', fsdp: { stage: 1 } } },
  'fsdp, stage 2': { options: { ...steps(3), ...clipping, strategy: 'fsdp', fsdp: { stage: 2 } } },
  'fsdp, stage 3': { options: { ...steps(3), ...clipping, strategy: 'fsdp', fsdp: { stage: 3 } } },
  'fsdp, stage 3, accumulate inside of the step': {
    options: { ...steps(2), strategy: 'fsdp', fsdp: { stage: 3 } },
    isInside: true,
  },
};

describe.each([1, 2, 3])('on %i ranks, compiled micro-batches equal plain ones bit for bit', (ranks) => {
  const cases = Object.entries(CASES).filter(([name]) => ranks > 1 || name.startsWith('ddp,'));
  it(`in ${cases.length} ways`, async () => {
    const module = new URL('./ranks/compiled-windows.ts', import.meta.url);
    const given = cases.map(([, each]) => each);
    const options = { module, ranks, args: given, env: SAME_KERNELS };
    const results = await onRanks<{ plain: Trained; compiled: Trained }[]>(options);
    results.forEach((trained, rank) => {
      cases.forEach(([name], i) => {
        const { plain, compiled } = trained[i]!;
        const about = `${name}, rank ${rank}: ${compiled.reason}`;
        expect(compiled.numbers, about).toEqual(plain.numbers);
        expect(compiled.reason, about).toBeUndefined();
        expect(compiled.replays, about).toBeGreaterThan(5);
        expect(new Set(compiled.left), about).toEqual(new Set([0]));
      });
    });
  });
});
