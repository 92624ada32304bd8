import { afterAll, expect, it } from 'vitest';
import type { CaseResult } from '@acc/testkit';
import { closeThreads, runOnThreads } from '@acc/testkit/threads';
import type { FsdpOptions } from './options.js';

afterAll(closeThreads);

it.each<FsdpOptions>([
  { stage: 1 },
  { stage: 2, bucketBytes: 64 },
  { stage: 3 },
  { stage: 3, bucketBytes: 64 },
])('fsdp with %j passes the cases of every strategy on 1, 2 and 3 ranks', async (args) => {
  const module = new URL('../fixtures/conformance.ts', import.meta.url);
  const results = await runOnThreads<Record<number, CaseResult[]>>({
    module,
    ranks: 3,
    args,
  });
  for (const [rank, ofRank] of results.entries()) {
    expect(Object.keys(ofRank)).toEqual(['1', '2', '3'].slice(rank));
    for (const cases of Object.values(ofRank)) {
      expect(cases.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
      expect(cases.length).toBeGreaterThan(10);
    }
  }
});

it.each([
  ['none', []],
  ['a norm of this rank alone', ['the global norm is that of the sums, on every rank']],
  ['finiteness of this rank alone', ['all ranks know if a gradient of one rank is not finite']],
  ['an update of half the gradient', expect.arrayContaining(['changed gradients are those of the step'])],
  ['boxes of the next element', ['the shards of all ranks are whole variables']],
  ['no elements between steps', ['the shards of all ranks are whole variables']],
  ['whole gradients in the shape of shards', ['a program reads whole gradients, and a step takes them']],
  ['a tensor left by each read', expect.arrayContaining(['neither a read nor detach leaves tensors'])],
  ['weights as they were first read', ['a weight that was read before a step has its new values after it']],
  ['weights of each rank', expect.arrayContaining(['every rank starts from the values of rank 0'])],
] as [string, string[]][])('the cases find a fault: %s', async (args, expected) => {
  const module = new URL('../fixtures/broken.ts', import.meta.url);
  const failed = await runOnThreads<string[]>({ module, ranks: 2, args });
  expect(failed.flat().filter((name, i, all) => all.indexOf(name) === i)).toEqual(expected);
});
