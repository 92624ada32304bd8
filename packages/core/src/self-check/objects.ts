import type { Check } from './check.js';

/** Objects that are gathered and broadcast arrive as they were. */
export const objectCheck: Check = {
  name: 'objects',
  run: ({ accelerator }) => {
    const { processIndex: rank, numProcesses: n } = accelerator;
    const made = (r: number) => ({
      rank: r,
      name: `rank ${r}`,
      list: [null, true, -0.5],
      data: Float32Array.of(r),
    });
    const gathered = accelerator.gatherObject([made(rank)]);
    const last = accelerator.broadcastObject(made(rank), n - 1);
    const expected = Array.from({ length: n }, (_, r) => made(r));
    if (JSON.stringify(gathered) !== JSON.stringify(expected))
      return { problem: 'gatherObject gave other objects' };
    if (JSON.stringify(last) !== JSON.stringify(made(n - 1)))
      return { problem: 'broadcastObject gave another object' };
    return { note: 'gathered and broadcast' };
  },
};
