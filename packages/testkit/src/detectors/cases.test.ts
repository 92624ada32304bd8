import { describe, expect, it } from 'vitest';
import { syntheticRun, type Detector, type Finding, type Run } from '@acc/records';
import { detectorCases, detectorCasesFor } from './cases.js';
import type { DetectorSubject } from './subject.js';

/** The differences of a broken detector from the right one. */
type Fault = Partial<Finding> & {
  readonly needs?: Detector['needs'];
  readonly find?: (run: Run, right: Finding) => Finding | undefined;
};

const sick = syntheticRun({ step: () => ({ ms: 20, optimizer: 11 }) });

function detectorWith({ needs, find, ...changed }: Fault): Detector {
  return {
    id: 'slow-optimizer',
    needs: needs ?? { steps: ['optimizer'], facts: ['device'] },
    find(run) {
      const share = run.share(({ row }) => row.optimizer);
      const right: Finding = {
        ...{ id: 'slow-optimizer', severity: 'warning', share },
        evidence: [{ quantity: 'optimizer', value: share, unit: '', limit: 0.5 }],
        cause: 'The optimizer takes most of the step.',
        ranks: run.numbers,
        since: null,
        advice: 'Use larger batches.',
        change: { option: 'gradientAccumulationSteps', from: 1, to: 2, line: null },
        gain: { low: 0, mid: share / 2, high: share, how: 'simulated' },
      };
      if (find) return find(run, right);
      return share < 0.5 ? undefined : { ...right, ...changed };
    },
  };
}

async function failedCases(fault: Fault, more: Partial<DetectorSubject> = {}): Promise<string[]> {
  const subject = { detector: detectorWith(fault), sick: [sick], healthy: [syntheticRun()], ...more };
  const failed: string[] = [];
  for (const { name, run } of detectorCasesFor(subject)) await run().catch(() => failed.push(name));
  return failed;
}

let calls = 0;

describe('the cases for detectors', () => {
  it('pass for a detector that keeps the rules', async () => {
    expect(await failedCases({})).toEqual([]);
    const change = { option: 'optimizer.every', from: 1, to: 2, line: null };
    expect(await failedCases({ change }, { options: ['optimizer.every'] })).toEqual([]);
  });

  it.each<[string, Fault, number]>([
    ['finds nothing', { find: () => undefined }, 0],
    ['finds something in each run', { find: (_, right) => right }, 1],
    [
      'finds more without a column',
      { find: (run, right) => (right.share < 0.5 && run.steps[0]![0]!.row.tensors >= 0 ? undefined : right) },
      3,
    ],
    [
      'counts its calls',
      { find: (_, right) => (right.share < 0.5 ? undefined : { ...right, cause: `Call ${calls++}.` }) },
      4,
    ],
    [
      'changes records',
      {
        find: (run, right) => (
          (run.recorded.problems as string[]).push('x'),
          right.share < 0.5 ? undefined : right
        ),
      },
      4,
    ],
    ['has no evidence', { evidence: [] }, 5],
    ['has a share above 1', { share: 1.5 }, 5],
    ['has an advice that is no sentence', { advice: '' }, 5],
    ['has a gain whose bounds are swapped', { gain: { low: 0.5, mid: 0.2, high: 0.1, how: 'simulated' } }, 6],
    [
      'names an option that does not exist',
      { change: { option: 'optimizer.every', from: 1, to: 2, line: null } },
      7,
    ],
  ])('fail for one that %s', async (_, fault, index) => {
    expect(await failedCases(fault)).toContain(detectorCases[index]!.name);
  });

  it('fail for one that judges without a fact that it needs', async () => {
    const { detector } = { detector: detectorWith({}) };
    // Its needs change after they were read, so it is asked all the same.
    let isRead = false;
    const forgetful: Detector = {
      ...detector,
      get needs() {
        const needs = isRead ? {} : detector.needs;
        isRead = !isRead;
        return needs;
      },
    };
    const subject = { detector: forgetful, sick: [sick], healthy: [syntheticRun()] };
    await expect(detectorCases[2]!.run(subject)).rejects.toThrow('it judges');
  });
});
