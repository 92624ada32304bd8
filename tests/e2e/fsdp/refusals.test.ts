import { beforeAll, describe, expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Mistake, Result as Disagreed } from './ranks/disagreeing.js';
import type { Layout, Result } from './ranks/refusals.js';

const env = { OMP_NUM_THREADS: '1' };
const SHARDED: readonly Layout[] = ['stage1', 'stage2', 'stage3', 'hybrid'];
let results: Result[];

const urlOf = (name: string) => new URL(`./ranks/${name}.ts`, import.meta.url);

/** These ranks fail, so each job has its own. */
const disagreeing = (mistake: Mistake) =>
  resultsOfRanks<Disagreed>({
    script: urlOf('disagreeing'),
    ranks: 2,
    args: [mistake],
    env,
  });

beforeAll(async () => {
  results = await onRanks<Result>({ module: urlOf('refusals'), ranks: 2, env });
});

describe.each(SHARDED)('%s, on every rank,', (layout) => {
  it.each([
    ['compile with offload', 'ACC_STRATEGY_CANNOT'],
    ['joinUnevenInputs', 'ACC_STRATEGY_CANNOT'],
    ['LocalSGD', 'ACC_STRATEGY_CANNOT'],
    ['DiLoCo', 'ACC_STRATEGY_CANNOT'],
    ['deterministic', 'ACC_DETERMINISTIC_UNSUPPORTED'],
    ['unknown', 'ACC_NOT_PREPARED'],
  ])('refuses %s', (what, code) => {
    for (const result of results) expect(result[layout][what]!.code).toBe(code);
  });

  it('trains a variable that was created after prepare and is in the list, as ddp does', () => {
    for (const { [layout]: found, ddp } of results) {
      expect(found['named']!.code).toBe('none');
      found['named']!.weights!.forEach((value, i) => {
        expect(value).toBeCloseTo(ddp['named']!.weights![i]!, 6);
      });
    }
  });

  it.each(['replaced', 'trained'])('says which state of an optimizer does not fit its shards: %s', (what) => {
    for (const result of results) {
      const { code, details, leaked = 0 } = result[layout][what]!;
      expect(code).toBe('ACC_STATE_MISMATCH');
      expect(leaked).toBe(0);
      expect(details).toEqual(results[0]![layout][what]!.details);
      const ofRanks = details!['ranks'] as string[][];
      expect(ofRanks).toHaveLength(2);
      expect(ofRanks.flat().join()).toMatch(/accumulatedFirstMoment|\/m has the shape/);
    }
  });
});

it('without sharding, everything works as with ddp, bit for bit', () => {
  for (const { unsharded, ddp } of results) {
    expect(Object.keys(unsharded)).toHaveLength(8);
    for (const [what, { code, weights }] of Object.entries(unsharded)) {
      expect(code, what).toBe(what === 'unknown' ? 'ACC_NOT_PREPARED' : 'none');
      expect(weights, what).toEqual(ddp[what]!.weights);
    }
  }
});

describe('ranks that do not agree', () => {
  it.each<[Mistake, RegExp]>([
    ['variable', /rank 0: allGatherObject\(\) for the variables to prepare.*\n.*rank 1: allGather.* for a/],
    ['units', /rank 0: .* for b.*\n.*rank 1: .* for/],
    ['list', /rank 0: .* for a.*\n.*rank 1: .* for c/],
  ])('get an error with the call of each: %s', async (mistake, calls) => {
    const ended = await disagreeing(mistake);
    // A rank that finds the difference first may be gone when the other one looks for its call.
    for (const { code, message } of ended) {
      expect(['ACC_COLLECTIVE_MISMATCH', 'ACC_PEER_LOST'], message).toContain(code);
    }
    const shown = ended.filter(({ code }) => code === 'ACC_COLLECTIVE_MISMATCH');
    const messages = shown.map(({ message }) => message);
    expect(
      messages.some((message) => calls.test(message)),
      messages.join('\n'),
    ).toBe(true);
  });

  it('learn which rank is gone, and that rank which unit has no memory and what to change', async () => {
    const [other, short] = await disagreeing('memory');
    expect(short!.code).toBe('ACC_OUT_OF_MEMORY');
    expect(short!.message).toMatch(/the unit 'large' of \d+ bytes/);
    expect(short!.help).toMatch(/fsdp\.wrap.*fsdp\.offload/);
    expect(other!.code).toBe('ACC_PEER_LOST');
    expect(other!.message).toMatch(/rank 1/);
  });
});
