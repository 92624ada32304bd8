import type { Detector } from '../finding.js';
import { gainOf, less } from '../replay.js';
import type { RankStep } from '../run.js';
import { severityOf } from '../severity.js';
import { median, sum } from '../statistics.js';

const MOST_RECORDINGS = 3;

/** A compiled step is recorded for many sizes or numbers among its arguments, and steps in between are not replayed. */
export const reRecording: Detector = {
  id: 're-recording',
  needs: { steps: ['recordings', 'replay'], passes: true },
  find(run) {
    const recordings = sum(run.allRows(0).map((row) => row.recordings || 0));
    const replayed = run.steps[0]!.filter(({ row }) => row.replay > 0);
    // Without a replay, another cause holds the step back: see not-replayed.
    if (recordings <= MOST_RECORDINGS || replayed.length === 0) return undefined;
    const replayMs = median(replayed.map(({ computeMs }) => computeMs));
    const excess = ({ row, computeMs }: RankStep) => (row.replay > 0 ? 0 : Math.max(0, computeMs - replayMs));
    const share = run.share(excess);
    const slow = run.steps[0]!.filter((step) => excess(step) > 0);
    if (share < 0.03) return undefined;
    return {
      id: 're-recording',
      severity: severityOf(share),
      share,
      evidence: [
        { quantity: 'recordings', value: recordings, unit: '', limit: MOST_RECORDINGS },
        { quantity: 'steps without a replay', value: (100 * slow.length) / run.length, unit: '%' },
        {
          quantity: 'a step without a replay, of one with it',
          value: median(slow.map(({ computeMs }) => computeMs)) / replayMs,
          unit: 'times',
        },
      ],
      cause:
        'The arguments of the compiled step change: their sizes, or numbers among them. Each combination needs recordings of its own, and after 8 of them steps run without.',
      ranks: run.numbers,
      since: null,
      advice:
        'Give the step few sizes: pad sequences to some lengths (bucketing), and leave out the last batch of an epoch (dropLast of the DataLoader). Pass numbers that change as scalar tensors.',
      change: null,
      gain: gainOf(run, { mid: less(excess), low: less((step) => 0.5 * excess(step)) }),
    };
  },
};
