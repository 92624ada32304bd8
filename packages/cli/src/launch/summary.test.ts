import { describe, expect, it } from 'vitest';
import type { FailedRank } from './root-cause.js';
import {
  describeEnding,
  describeFailure,
  describeLateErrors,
  describeWaits,
  OUT_OF_MEMORY_HELP,
  uncaughtError,
} from './summary.js';

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

const job = { worldSize: 2, script: 'train.mts' };
const failed = (rank: number, given: FailedRank['rank']): FailedRank => ({
  exit: { rank, pid: 42 + rank, exitCode: 1, signal: null },
  rank: given,
});

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
    const text = describeFailure(
      { ...failed(1, { stderrTail: PRINTED, logPath: 'rank-1.log' }), others: [] },
      { ...job, wholePath: 'rank-1.log' },
    );
    expect(text).toBe(
      `${['acc: rank 1 of 2 (pid 43) failed with exit code 1. The other ranks were ended.', '  all of its stderr: rank-1.log', '  its error:', ...ERROR.map((line) => `    ${line}`)].join('\n')}\n`,
    );
    const plain = describeFailure({ ...failed(1, { stderrTail: ['epoch 3', 'gone'] }), others: [] }, job);
    expect(plain.split('\n').slice(1)).toEqual(['  the end of its stderr:', '    epoch 3', '    gone', '']);
  });

  it('shows an equal error of several ranks once, names other errors, and leaves out consequences', () => {
    const thrown = (rank: number, text: string, code?: string) =>
      failed(rank, { stderrTail: [], error: { code, text, whole: `${text} and more` } });
    const lost = thrown(3, 'AccError [ACC_PEER_LOST]: rank 2 has ended');
    const others = [thrown(0, 'Error: x\n    at a.mjs:1:1'), thrown(1, 'Error: y\n    at a.mjs:2:1'), lost];
    const root = { ...thrown(2, 'Error: x\n    at a.mjs:1:1'), others };
    expect(describeFailure(root, { ...job, worldSize: 4, wholePath: 'all.log' }).split('\n')).toEqual([
      'acc: ranks 0 and 2 of 4 failed with exit code 1. The other ranks were ended.',
      '  rank 1 failed, too: Error: y at a.mjs:2:1',
      '  all errors, kept for 7 days: all.log',
      '  their error:',
      '    Error: x',
      '        at a.mjs:1:1',
      '',
    ]);
    expect(describeFailure({ ...root, others: [others[0]!] }, job)).toMatch(
      /^acc: ranks 0 and 2 of 2 failed with exit code 1\.\n {2}their/,
    );
    const dumps = [0, 1].map((rank) => failed(rank, { stderrTail: PRINTED }));
    expect(describeFailure({ ...dumps[0]!, others: [dumps[1]!] }, job)).toMatch(/^acc: ranks 0 and 1 of 2 /);
  });

  it('begins with the ranks that exited with code 0 if the others only lost them', () => {
    const leavers = [{ rank: 1, pid: 43, exitCode: 0, signal: null }];
    const failure = { ...failed(0, { stderrTail: PRINTED }), others: [], leavers };
    const text = describeFailure(failure, job);
    expect(text).toMatch(
      /^acc: rank 1 of 2 \(pid 43\) exited with code 0 while rank 0 still needed it\. The other/,
    );
    expect(text).toContain('rank 0 failed with exit code 1 as a consequence');
    expect(describeEnding(failure)).toBe(
      'acc: rank 1 exited with code 0 while rank 0 still needed it, ending the other ranks\n',
    );
    const two = [{ ...leavers[0]!, rank: 2 }, ...leavers];
    expect(describeEnding({ ...failure, leavers: two })).toMatch(/^acc: ranks 1 and 2 .* needed them, /);
    expect(describeEnding({ ...failure, leavers: [] })).toMatch(/^acc: rank 0 failed, /);
  });

  it('ends with the error of a rank that exited with code 0 all the same', () => {
    const { exit, rank } = failed(1, { stderrTail: PRINTED });
    const text = describeFailure({ exit: { ...exit, exitCode: 0 }, rank, others: [] }, job);
    expect(text).toMatch(/^acc: rank 1 of 2 \(pid 43\) failed, but exited with code 0\. The other/);
    expect(text.trimEnd().split('\n').at(-1)?.trim()).toBe(ERROR.at(-1));
  });

  it('names ranks that were killed or ended without an error', () => {
    const ended = (rank: number, exitCode: number, signal: NodeJS.Signals | null): FailedRank => ({
      exit: { rank, pid: 42 + rank, exitCode, signal },
      rank: { stderrTail: [] },
    });
    const root = failed(0, { stderrTail: PRINTED });
    const others = [ended(1, 137, 'SIGKILL'), ended(2, 139, 'SIGSEGV'), ended(3, 7, null)];
    expect(
      describeFailure({ ...root, others }, { ...job, worldSize: 4 })
        .split('\n')
        .slice(1, 4),
    ).toEqual([
      `  rank 1 was killed by SIGKILL, too. ${OUT_OF_MEMORY_HELP}`,
      '  rank 2 was killed by SIGSEGV, too',
      '  rank 3 failed with exit code 7, too',
    ]);
  });

  it('explains the exit code of an await that never settles', () => {
    const rank = failed(0, { stderrTail: ['Warning: Detected unsettled top-level await at a.mjs:3'] });
    const of = (failure: FailedRank) =>
      describeFailure({ ...failure, exit: { ...failure.exit, exitCode: 13 }, others: [] }, job);
    expect(of(rank)).toMatch(/a\.mjs:3\n→ An await outside of a function .*\n$/);
    // A program may choose the same exit code.
    expect(of(failed(0, { stderrTail: ['no data'] }))).not.toContain('→');
  });

  it('cuts a long error, and has the place of an error of the parser', () => {
    const text = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');
    const lines = describeFailure(
      { ...failed(0, { stderrTail: [], error: { code: undefined, text, whole: text } }), others: [] },
      job,
    )
      .trimEnd()
      .split('\n');
    expect(lines.length).toBeLessThan(25);
    expect(lines).toContain('    … 22 more lines');
    expect(lines.at(-1)).toBe('    line 39');
    const wide = failed(0, { stderrTail: ['x'.repeat(9_999)] });
    expect(describeFailure({ ...wide, others: [] }, job).length).toBeLessThan(1_000);
    const syntax = [
      'a.mjs:3',
      'const a = ;',
      '          ^',
      '',
      "SyntaxError: Unexpected token ';'",
      '',
      'Node.js v22',
    ];
    expect(uncaughtError(syntax)).toEqual(syntax.slice(0, 5));
  });

  it('tells errors of ranks that did not end the job, each once', () => {
    const error = { code: undefined, text: 'Error: no disk', whole: 'Error: no disk' };
    expect(
      describeLateErrors(
        [
          { rank: 0, error, stderrTail: [] },
          { rank: 1, error: undefined, stderrTail: [] },
          {
            rank: 2,
            error: { ...error, text: 'AccError [ACC_PEER_LOST]: rank 0 has ended' },
            stderrTail: [],
          },
        ],
        'while the job was being ended',
      ),
    ).toBe('acc: rank 0 failed while the job was being ended:\n    Error: no disk\n');
    expect(describeLateErrors([{ rank: 0, error: undefined, stderrTail: [] }], '')).toBe('');
  });
});

it('who waits for whom is said again, unless that wait has ended', () => {
  const line = "acc: rank 0 has waited 10 s for rank 1, in allReduce(float32[], 'sum') at /a.mjs:7:13";
  const of2 = line.replace('rank 0', 'rank 2');
  const tails = [[line], [of2, 'acc: rank 2 no longer waits for rank 1'], [of2, 'epoch 3'], []];
  expect(describeWaits(tails.map((stderrTail) => ({ stderrTail })))).toBe(`${line}\n`);
});
