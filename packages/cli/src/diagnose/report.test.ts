import { expect, it } from 'vitest';
import type { Diagnosis } from '@acc/records';
import { formatDiagnosis } from './report.js';

const nothing: Diagnosis = {
  ...{ findings: [], notJudged: [], detectors: 16, problems: [] },
  ...{ steps: 100, ranks: [0], stepMs: 10 },
};

it('a run is healthy only if all causes were judged', () => {
  expect(formatDiagnosis(nothing)).toContain('Healthy');
  const text = formatDiagnosis({ ...nothing, notJudged: [{ id: 'gc', reason: 'no column gc' }] });
  expect(text).toContain('Nothing was found; 1 of 16 causes could not be judged.');
  expect(text).not.toContain('Healthy');
});
