import type { Detector } from '../finding.js';
import { axisSize } from '../options.js';
import { gainOf, type Edit } from '../replay.js';
import type { RankStep } from '../run.js';
import { severityOf } from '../severity.js';
import { median } from '../statistics.js';

const MOST_LOAD = 1.5;

/** A router sends most tokens to few experts. */
export const expertImbalance: Detector = {
  id: 'expert-imbalance',
  needs: { steps: ['expertLoad'], facts: ['options'] },
  find(run) {
    const load = median(run.steps.flat().map(({ row }) => row.expertLoad));
    if (!(load >= MOST_LOAD)) return undefined;
    const onRanks = axisSize(run, 'expert') > 1;
    // The ranks of the other experts wait for the fullest one.
    const excess = ({ computeMs }: RankStep) => computeMs * (1 - 1 / load);
    const edit =
      (part: number): Edit =>
      (cost, step) => ({ ...cost, before: Math.max(0, cost.before - part * excess(step)) });
    // Without a time that it costs, by the tokens of that expert above the limit.
    const share = onRanks ? run.share(excess) : 1 - MOST_LOAD / load;
    return {
      id: 'expert-imbalance',
      severity: severityOf(1 - 1 / load, 0.5),
      share,
      evidence: [
        {
          quantity: 'tokens of the fullest expert of a layer, of the mean',
          value: load,
          unit: 'times',
          limit: MOST_LOAD,
        },
      ],
      cause: `The router sends ${load.toFixed(1)} times as many tokens to one expert as to the others on average${onRanks ? ', and its rank makes the others wait' : ', so the others learn little'}.`,
      ranks: run.numbers,
      since: null,
      advice:
        'Raise balanceLoss of the moe layers, or jitter. capacityFactor bounds the tokens of an expert, and drops those above.',
      change: null,
      gain: onRanks ? gainOf(run, { low: edit(0), mid: edit(0.5), high: edit(1) }) : null,
    };
  },
};
