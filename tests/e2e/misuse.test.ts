import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/misuse.ts', import.meta.url);

async function expectErrorOnEveryRank(
  args: readonly string[],
  code: string,
  parts: readonly string[],
): Promise<void> {
  const results = await runRanks<{ code: string; message: string }>({ script, ranks: 2, args });
  for (const { result, stderr } of results) {
    expect(result?.code, stderr + result?.message).toBe(code);
    for (const part of parts) expect(result!.message).toContain(part);
  }
}

describe.each(['auto', 'gloo'])('calls that differ are named on every rank, engine %s', (engine) => {
  it.each([
    ['shape', ['float32[2]', 'float32[3]']],
    ['dtype', ['float32[2]', 'int32[2]']],
    ['collective', ['allGather(float32[2])', 'barrier()']],
    ['empty', ['float32[0]', 'float32[2]']],
    ['roots', ['rank 0)', 'rank 1)']],
  ])('%s', (mistake, parts) => expectErrorOnEveryRank([mistake, engine], 'ACC_COLLECTIVE_MISMATCH', parts));
});

describe('a mistake is an error on every rank', () => {
  it.each([
    ['variables', 'ACC_VARIABLES_DIFFER', ['float32[2,3]', 'float32[2,4]']],
    ['fewerVariables', 'ACC_VARIABLES_DIFFER', ['(none)']],
    ['object', 'ACC_CANNOT_PREPARE', []],
    ['notBuilt', 'ACC_MODEL_NOT_BUILT', []],
    ['leaf', 'ACC_NOT_A_TENSOR', ["'a'"]],
    ['options', 'ACC_OPTIONS_DIFFER', ['ddp.bucketBytes', 'rank 0: 1000', 'rank 1: 1001']],
    [
      'hooks',
      'ACC_OPTIONS_DIFFER',
      ['ddp.commHook', 'rank 0: {"name":"topK","ratio":0.5}', 'rank 1: "topK"'],
    ],
    ['strategies', 'ACC_OPTIONS_DIFFER', ['rank 0: "ddp"', 'rank 1: "single"']],
    ['unused', 'ACC_VARIABLES_UNUSED', [': b.']],
    ['strings', 'ACC_COLLECTIVE_DTYPE', []],
    ['operation', 'ACC_INVALID_ARGUMENT', ["'avg'"]],
    ['onlyMain', 'ACC_COLLECTIVE_MISMATCH', ['misuse.ts:']],
  ])('%s: %s', (mistake, code, parts) => expectErrorOnEveryRank([mistake, 'auto'], code, parts));
});
