import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/misuse.ts', import.meta.url);

describe('a mistake is an error on every rank', () => {
  it.each([
    ['shape', 'ACC_COLLECTIVE_MISMATCH', ['float32[2]', 'float32[3]']],
    ['dtype', 'ACC_COLLECTIVE_MISMATCH', ['float32[2]', 'int32[2]']],
    ['collective', 'ACC_COLLECTIVE_MISMATCH', ['allGather(float32[2])', 'barrier()']],
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
  ])('%s: %s', async (mistake, code, parts) => {
    const results = await runRanks<{ code: string; message: string }>({ script, ranks: 2, args: [mistake] });
    for (const { result, stderr } of results) {
      expect(result?.code, stderr + result?.message).toBe(code);
      for (const part of parts) expect(result!.message).toContain(part);
    }
  });
});
