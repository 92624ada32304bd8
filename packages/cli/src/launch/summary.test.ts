import { describe, expect, it } from 'vitest';
import { describeFailure, uncaughtError } from './summary.js';

const ERROR = [
  'AccError [ACC_X]: what happened',
  '→ do this',
  '    at train.mts:3:1 {',
  "  code: 'ACC_X',",
  '  [cause]: Error: below',
  '}',
];
const PRINTED = [
  'epoch 3',
  '/home/someone/library.js:16',
  '  throw new AccError(',
  '        ^',
  '',
  ...ERROR,
  '',
  'Node.js v22.12.0',
];

describe('the message about the rank that ended a job', () => {
  it('has the error that nobody caught, and nothing that Node.js prints around it', () => {
    expect(uncaughtError(PRINTED)).toEqual(ERROR);
    const lines = ['Error: the worker failed:', 'TypeError: x is undefined', '    at a.mjs:1:1'];
    expect(
      uncaughtError(['Error: retrying', 'a.mjs:1', '  ^', '', ...lines, '', 'Node.js v22.12.0', '']),
    ).toEqual(lines);
    expect(uncaughtError(['Error: retrying', '    at a.mjs:1:1'])).toBeUndefined();
    expect(uncaughtError([...PRINTED, 'Error while closing the log'])).toBeUndefined();
    expect(uncaughtError(['epoch 3', 'Segmentation fault'])).toBeUndefined();
  });

  it('ends with the error, and otherwise with the end of stderr', () => {
    const exit = { rank: 1, pid: 42, exitCode: 1, signal: null };
    const about = { worldSize: 2, script: 'train.mts' };
    const text = describeFailure({ exit, rank: { stderrTail: PRINTED, logPath: 'rank-1.log' } }, about);
    expect(text).toBe(
      `${['acc: rank 1 of 2 (pid 42) failed with exit code 1. The other ranks were ended.', '  all of its stderr: rank-1.log', '  its error:', ...ERROR.map((line) => `    ${line}`)].join('\n')}\n`,
    );
    const plain = describeFailure({ exit, rank: { stderrTail: ['epoch 3', 'gone'] } }, about);
    expect(plain.split('\n').slice(1)).toEqual(['  the end of its stderr:', '    epoch 3', '    gone', '']);
  });
});
