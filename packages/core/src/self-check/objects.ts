import type { Check } from './check.js';

/** Objects that are gathered and broadcast arrive as they were. */
export const objectCheck: Check = {
  name: 'objects',
  run: ({ accelerator }) => {
    const { processIndex: rank, numProcesses: n } = accelerator;
    const created = (r: number) => ({
      rank: r,
      name: `rank ${r}`,
      list: [null, true, -0.5],
      data: Float32Array.of(r),
    });
    const gathered = accelerator.gatherObject([created(rank)]);
    const last = accelerator.broadcastObject(created(rank), n - 1);
    const expected = Array.from({ length: n }, (_, r) => created(r));
    if (JSON.stringify(gathered) !== JSON.stringify(expected))
      return { problem: 'gatherObject gave other objects' };
    if (JSON.stringify(last) !== JSON.stringify(created(n - 1)))
      return { problem: 'broadcastObject gave another object' };
    return { note: 'gathered and broadcast' };
  },
};
