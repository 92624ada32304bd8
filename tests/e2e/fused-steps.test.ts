import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import { SAME_KERNELS } from './same-kernels.js';
import type { Trained, Trainings } from './ranks/fused-steps.js';

let ranks: Record<string, Trainings>[];
beforeAll(async () => {
  const module = new URL('./ranks/fused-steps.ts', import.meta.url);
  ranks = await onRanks({ module, ranks: 2, env: SAME_KERNELS });
});

/** Compares each tensor of eight steps, relative to its largest magnitude. */
function expectWithin(tolerance: number, fused: Trained, plain: Trained): void {
  const tensors = ({ losses, norms, weights }: Trained) => [losses, norms, ...weights];
  const expected = tensors(plain);
  tensors(fused).forEach((values, i) => {
    const atol = tolerance * Math.max(...expected[i]!.map(Math.abs));
    expectClose(values, expected[i]!, { rtol: 0, atol });
  });
}

const numbersOf = ({ losses, norms, weights }: Trained) => ({ losses, norms, weights });

describe.each(['no', 'bf16'])('on two ranks with clipping, in mixed precision %s', (precision) => {
  it('ranks have equal weights, and other losses', () => {
    const [first, second] = ranks.map((results) => results[precision]!);
    for (const name of Object.keys(first!) as (keyof Trainings)[]) {
      expect(second![name].weights).toEqual(first![name].weights);
      expect(second![name].losses).not.toEqual(first![name].losses);
    }
  });

  it("compiled steps equal plain ones bit for bit, without fusion, with 'plain' and with 'exact'", () => {
    for (const { [precision]: results } of ranks) {
      const { plain, unfused, usual, exact } = results!;
      expect(numbersOf(unfused)).toEqual(numbersOf(plain));
      expect(unfused.replays).toBe(5);
      for (const compiled of [usual, exact]) {
        expect(numbersOf(compiled)).toEqual(numbersOf(plain));
        expect(compiled.replays).toBe(5);
        expect(compiled.explanation).toMatch(/calls run as [1-9]\d* fused programs/);
        expect(compiled.explanation).toMatch(/recomputed in later programs/);
      }
    }
  });

  it('compiled steps on batches of sizes that differ between ranks equal plain ones bit for bit', () => {
    ranks.forEach(({ [precision]: results }, rank) => {
      const { 'plain sizes': plain, ...others } = results!;
      const compiled = (['unfused', 'usual', 'exact'] as const).map((name) => others[`${name} sizes`]);
      for (const each of compiled) expect(numbersOf(each)).toEqual(numbersOf(plain));
      // Rank 1 meets another size one batch earlier, and needs no second recording for 6 rows.
      const replays = [3, 4][rank];
      expect(compiled.map((each) => each.replays)).toEqual([replays, replays, replays]);
      for (const { explanation } of compiled) expect(explanation).toMatch(/one recording for 3 sizes/);
    });
  });

  it('fused steps differ from plain ones by rounding', () => {
    for (const { [precision]: results } of ranks) {
      const { plain, fused } = results!;
      expectWithin(precision === 'no' ? 1e-6 : 1e-5, fused, plain);
      expect(fused.replays).toBe(5);
      expect(fused.explanation).toMatch(/out: .*tanh/);
      expect(fused.explanation).toMatch(/recomputed in later programs/);
    }
  });

  it('steps that run windows of two micro-batches equal plain ones bit for bit', () => {
    for (const { [precision]: results } of ranks) {
      const windows = results!['exact windows'];
      expect(numbersOf(windows)).toEqual(numbersOf(results!['plain windows']));
      // The first call shows how many micro-batches there are, the second one is the first such call.
      expect(windows.replays).toBe(4);
    }
  });
});
