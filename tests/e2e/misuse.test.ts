import { beforeAll, describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/misuse.ts', import.meta.url);

/** The errors of one rank, by mistake. */
type Errors = Record<string, { code: string; message: string }>;

/** Two ranks make the mistakes one after another. Returns the errors of each rank. */
async function errorsOf(engine: string, mistakes: readonly string[]): Promise<Errors[]> {
  const results = await runRanks<Errors>({ script, ranks: 2, args: [engine, ...mistakes] });
  return results.map(({ result, exitCode, stderr }) => {
    expect(exitCode, stderr).toBe(0);
    expect(Object.keys(result!), stderr).toEqual(mistakes);
    return result!;
  });
}

function expectError(
  ranks: readonly Errors[],
  mistake: string,
  code: string,
  parts: readonly string[],
): void {
  expect(ranks).toHaveLength(2);
  for (const errors of ranks) {
    const { code: given, message } = errors[mistake]!;
    expect(given, message).toBe(code);
    for (const part of parts) expect(message).toContain(part);
  }
}

const DIFFERENT_CALLS: readonly (readonly [mistake: string, parts: readonly string[]])[] = [
  ['shape', ['float32[2]', 'float32[3]']],
  ['dtype', ['float32[2]', 'int32[2]']],
  ['collective', ['allGather(float32[2])', 'barrier()']],
  ['empty', ['float32[0]', 'float32[2]']],
  ['roots', ['rank 0)', 'rank 1)']],
];

const OTHERS: readonly (readonly [mistake: string, code: string, parts: readonly string[]])[] = [
  ['variables', 'ACC_VARIABLES_DIFFER', ['float32[2,3]', 'float32[2,4]']],
  ['fewerVariables', 'ACC_VARIABLES_DIFFER', ['(none)']],
  ['object', 'ACC_CANNOT_PREPARE', []],
  ['notBuilt', 'ACC_MODEL_NOT_BUILT', []],
  ['leaf', 'ACC_NOT_A_TENSOR', ["'a'"]],
  ['options', 'ACC_OPTIONS_DIFFER', ['ddp.bucketBytes', 'rank 0: 1000', 'rank 1: 1001']],
  ['hooks', 'ACC_OPTIONS_DIFFER', ['ddp.commHook', 'rank 0: {"name":"topK","ratio":0.5}', 'rank 1: "topK"']],
  ['strategies', 'ACC_OPTIONS_DIFFER', ['rank 0: "ddp"', 'rank 1: "single"']],
  ['unused', 'ACC_VARIABLES_UNUSED', [': b.']],
  ['strings', 'ACC_COLLECTIVE_DTYPE', []],
  ['operation', 'ACC_INVALID_ARGUMENT', ["'avg'"]],
  ['onlyMain', 'ACC_COLLECTIVE_MISMATCH', ['misuse.ts:']],
];

describe('over shared memory, which survives a mistake, every rank gets an error', () => {
  let ranks: Errors[];
  beforeAll(async () => {
    ranks = await errorsOf(
      'auto',
      [...DIFFERENT_CALLS, ...OTHERS].map(([mistake]) => mistake),
    );
  });
  it.each(DIFFERENT_CALLS)('%s', (mistake, parts) =>
    expectError(ranks, mistake, 'ACC_COLLECTIVE_MISMATCH', parts),
  );
  it.each(OTHERS)('%s: %s', (mistake, code, parts) => expectError(ranks, mistake, code, parts));
});

describe('over gloo, which does not survive different calls, they are named on every rank', () => {
  it.each(DIFFERENT_CALLS)('%s', async (mistake, parts) =>
    expectError(await errorsOf('gloo', [mistake]), mistake, 'ACC_COLLECTIVE_MISMATCH', parts),
  );
});
