import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Report } from './ranks/auto-plan.js';

/** By case, what of the names of weights is cut on all sizes, and what is whole. */
const CASES = {
  'one head of keys': { cut: /mlp.*kernel|embeddings|lm_head/, whole: /attn/ },
  'heads of queries': { cut: /mlp\/c_fc|mlp\/c_proj\/kernel|wte/, whole: /attn|mlp\/c_proj\/bias/ },
  'an uneven vocabulary': { cut: /c_attn|c_fc|c_proj\/kernel/, whole: /wte|wpe|ln/ },
  'lora of some projections': {
    cut: /(q_proj|v_proj)\/lora_B|down_proj\/lora_A/,
    whole: /(q_proj|v_proj)\/lora_A|down_proj\/lora_B/,
  },
  'lora of all projections': {
    cut: /(c_attn|c_fc)\/lora_B|c_proj\/lora_A/,
    whole: /(c_attn|c_fc)\/lora_A|c_proj\/lora_B/,
  },
  'lora of whole heads': { cut: /down_proj\/lora_A/, whole: /(q_proj|o_proj)\/lora/ },
  'lora of a row of layers': {
    cut: /(in|logits)\/lora_B|mid\/lora_A/,
    whole: /(in|logits)\/lora_A|mid\/lora_B/,
  },
} as const satisfies Record<string, { cut: RegExp; whole: RegExp }>;
const NAMES = Object.keys(CASES) as (keyof typeof CASES)[];

const reports = new Map<number, Report[]>();
beforeAll(async () => {
  const module = new URL('./ranks/auto-plan.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  for (const ranks of [1, 2, 3]) {
    const given = { module, ranks, args: NAMES, env };
    reports.set(ranks, await onRanks<Report>(given));
  }
}, 340_000);

it('what is stated after prepare is refused on one rank, without the axis tensor, as on several', () => {
  const late = (ranks: number) => reports.get(ranks)!.map((report) => report.late);
  expect(late(1)[0]!['auto']).toMatch(/^ACC_TENSOR_PARALLEL_PLAN/);
  for (const each of late(2)) expect([each]).toEqual(late(1));
});

describe.each([2, 3])("the plan 'auto' on %i ranks", (ranks) => {
  it.each(NAMES)('%s: trains as in one process', (name) => {
    const expected = reports.get(1)![0]!.trained[name]!;
    for (const { trained } of reports.get(ranks)!) {
      expectClose(trained[name]!.losses, expected.losses, { rtol: 1e-4 });
      expectClose(trained[name]!.weights, expected.weights, { rtol: 1e-4, atol: 1e-5 });
    }
  });

  it.each(NAMES)('%s: cuts what the ranks can share, and leaves the rest whole', (name) => {
    const { cut, whole } = CASES[name];
    const { held: alone } = reports.get(1)![0]!.trained[name]!;
    const names = Object.keys(alone);
    const [ofCut, ofWhole] = [cut, whole].map((pattern) => names.filter((each) => pattern.test(each)));
    expect(ofCut!.length).toBeGreaterThan(0);
    expect(ofWhole!.length).toBeGreaterThan(0);
    for (const { trained } of reports.get(ranks)!) {
      const { held } = trained[name]!;
      for (const each of ofCut!) expect([each, held[each]]).toEqual([each, alone[each]! / ranks]);
      for (const each of ofWhole!) expect([each, held[each]]).toEqual([each, alone[each]]);
    }
  });

  it.each([
    ['auto', /parallelize: 'tokens\/embeddings\w*' is prepared/],
    ['sequence', /parallelize: 'in' is prepared/],
    ['cut', /cut: 'alone' is prepared/],
    ['replicated', /parallelize: 'tokens\/embeddings\w*' is prepared/],
  ])('refuses what is stated after prepare: %s', (what, message) => {
    for (const { late } of reports.get(ranks)!) {
      expect(late[what]).toMatch(/^ACC_TENSOR_PARALLEL_PLAN .* before accelerator.prepare/s);
      expect(late[what]).toMatch(message);
    }
  });

  it('accepts the same plan again, and any plan after freeMemory', () => {
    for (const { late } of reports.get(ranks)!)
      expect([late['again'], late['after freeMemory']]).toEqual(['none', 'none']);
  });

  it('refuses a step of a model of which the ranks can share nothing, and says why', () => {
    for (const { nothing } of reports.get(ranks)!) {
      expect(nothing.code).toBe('ACC_TENSOR_PARALLEL_PLAN');
      expect(nothing.message).toMatch(
        /leaves whole what \d does not divide: 'attn\/.*kernel.* of 1 heads and 1 kvHeads/,
      );
    }
  });
});
