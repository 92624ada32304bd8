import { it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';
it('x', async () => {
  const given = JSON.parse(process.env.TP!) as object[];
  let first: any;
  for (const { ranks, ...g } of given as any[]) {
    if (g.reset) {
      first = undefined;
      delete g.reset;
    }
    const all = await resultsOfRanks<any>({
      script: new URL('./ranks/models.ts', import.meta.url),
      ranks,
      args: [JSON.stringify(g)],
      env: { OMP_NUM_THREADS: '1' },
    });
    for (const r of all) {
      console.log(
        JSON.stringify({
          g,
          losses: [r.losses[0], r.losses.at(-1)],
          sent: r.sent,
          left: r.left,
          peak: r.peak,
        }),
      );
      if (first) {
        try {
          expectClose(r.losses, first.losses, { rtol: 1e-4 });
          r.weights.forEach((w: any, i: number) =>
            expectClose(w, first.weights[i], { rtol: 1e-4, atol: 1e-5 }),
          );
          if (r.saved) expectClose(r.saved, r.weights as any, { rtol: 0, atol: 0 }); console.log('same');
        } catch (e: any) {
          console.log(e.message);
        }
      }
    }
    first ??= all[0];
  }
}, 200000);
