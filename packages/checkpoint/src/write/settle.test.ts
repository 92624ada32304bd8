import { expect, it } from 'vitest';
import { AccError, type Collective } from '@acc/contract';
import { fileStorage } from '../storage/file-storage.js';
import type { StartedSave } from './save.js';
import { settleSave } from './settle.js';

const SIZE = 2;

/**
 * The outcome of `settleSave` on each rank, for the given results of writing and committing. Ranks
 * run one after the other; later ranks receive what rank 0 broadcasts.
 */
async function outcomes(
  written: readonly (AccError | undefined)[],
  committed: AccError | undefined,
  onError: 'throw' | 'warn' = 'throw',
) {
  const problems = written.map((error) => (error ? { reason: error.message, help: error.help ?? '' } : null));
  let said: unknown;
  const settle = async (rank: number) => {
    const collective = {
      named: <R>(_: string, fn: () => R) => fn(),
      allGatherObject: () => problems,
      broadcastObject: (value: unknown) => (rank === 0 ? (said = value) : said),
    } as unknown as Collective;
    let isWithdrawn = false;
    const save: StartedSave = {
      location: { storage: fileStorage('somewhere'), prefix: 'c/' },
      written: Promise.resolve(written[rank]),
      committed: rank === 0 ? Promise.resolve(committed) : undefined,
      abandon() {},
      async withdraw() {
        await Promise.resolve();
        isWithdrawn = true;
      },
    };
    const thrown = await settleSave(save, collective, onError).catch((error: AccError) => error);
    return { ranks: thrown?.details['ranks'], help: thrown?.help, isWithdrawn };
  };
  const met = [];
  for (let rank = 0; rank < SIZE; rank++) met.push(await settle(rank));
  return met;
}

const full = new AccError('ACC_STORAGE_FULL', 'full');
const doubt = new AccError('ACC_CHECKPOINT_IN_DOUBT', 'perhaps');

it.each([
  ['that is complete', [undefined, undefined], undefined, { ranks: undefined, isWithdrawn: false }],
  [
    'complete though a rank met an error',
    [undefined, full],
    undefined,
    { ranks: undefined, isWithdrawn: false },
  ],
  ['not written by a rank', [undefined, full], full, { ranks: { '1': 'full' }, isWithdrawn: true }],
  ['not committed', [undefined, undefined], full, { ranks: { '0': 'full' }, isWithdrawn: true }],
  ['in doubt', [undefined, undefined], doubt, { ranks: { '0': 'perhaps' }, isWithdrawn: false }],
  ['in doubt, with an error', [undefined, full], doubt, { ranks: { '0': 'perhaps' }, isWithdrawn: false }],
])('all ranks come to the same result for a save %s', async (_, written, committed, expected) => {
  const [first, second] = await outcomes(written, committed);
  expect([first, second]).toMatchObject([expected, expected]);
  expect(second!.help).toBe(first!.help);
});

it.each([
  ['throw', /^Free space\. Earlier checkpoints are unchanged\. With checkpoint: \{ onError: 'warn' \}/],
  ['warn', /^Free space\. Earlier checkpoints are unchanged\.$/],
] as const)('the advice is that of the failure, and follows onError: %s', async (onError, expected) => {
  const noSpace = new AccError('ACC_STORAGE_FULL', 'no space', { help: 'Free space.' });
  for (const { help } of await outcomes([undefined, noSpace], noSpace, onError))
    expect(help).toMatch(expected);
});
