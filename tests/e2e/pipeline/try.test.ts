import { it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';
it('tries', async () => {
  const script = new URL('./ranks/steps.ts', import.meta.url);
  const run = (ranks: number, env = {}) => resultsOfRanks<Record<string, any>>({ script, ranks, env: { OMP_NUM_THREADS: '1', ...env }, timeoutMs: 110_000 });
  const [alone] = await run(1);
  for (const [ranks, DATA] of [[2, '1'], [3, '1'], [4, '2']] as const) {
    if (process.env.RANKS && !process.env.RANKS.includes(String(ranks))) continue;
    const found = await run(ranks, { DATA });
    for (const name of Object.keys(found[0]!)) {
      const a = alone![name] ?? alone!['1f1b'];
      for (const [rank, f] of found.entries()) {
        const b = f[name];
        let dl = 0, dw = 0;
        b.losses.forEach((v: number, i: number) => (dl = Math.max(dl, Math.abs(v - a.losses[i]) / Math.abs(a.losses[i]))));
        for (const [k, v] of Object.entries(b.weights) as any) v.forEach((x: number, i: number) => { const key = Object.keys(a.weights)[Object.keys(b.weights).indexOf(k)]!; dw = Math.max(dw, Math.abs(x - a.weights[key][i]) / (Math.abs(a.weights[key][i]) + 1e-2)); });
        console.log(ranks, rank, name, 'loss', dl.toExponential(1), 'weights', dw.toExponential(1), 'held', b.heldElements, a.heldElements, 'leaked', b.leaked.join());
      }
    }
  }
}, 400_000);
