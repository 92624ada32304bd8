import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';

interface Study {
  readonly sizes: readonly { readonly ranks: number; readonly samples: number; readonly bytesSent: number }[];
  readonly findings: readonly { readonly id: string }[];
  readonly report: { readonly markdown: string; readonly html: string };
}

const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
const program = fileURLToPath(new URL('../../examples/slow-run/train.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'acc-slow-run-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function studied(): Promise<Study> {
  const study = ['scale-study', program, '--ranks', '1,2', '--strong', '--turns', '1', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, [acc, ...study, '--', '--steps', '80'], {
    cwd: folder,
  });
  return JSON.parse(stdout) as Study;
}

it('a program is run weak or strong as the study says, and its report has what the diagnosis finds', async () => {
  const { sizes, findings, report } = await studied();
  // The program gives each rank 8 rows; the study asks for 8 of all ranks together.
  expect(sizes.map(({ ranks, samples }) => [ranks, samples])).toEqual([
    [1, 8],
    [2, 8],
  ]);
  expect(sizes[1]!.bytesSent).toBeGreaterThan(2 ** 20);
  const ids = findings.map(({ id }) => id);
  expect(ids).toContain('leak');
  const markdown = readFileSync(report.markdown, 'utf8');
  expect(markdown).toMatch(/^# How train\.ts scales\n\nOn 2 ranks the efficiency is \d+ %\./);
  expect(markdown).toContain(`acc diagnose says of the run on 2 ranks: ${ids[0]!}`);
  expect(readFileSync(report.html, 'utf8').match(/<svg /g)).toHaveLength(2);
  for (const name of ['efficiency.svg', 'step.svg'])
    expect(readFileSync(join(dirname(report.markdown), name), 'utf8')).toContain('</svg>');
});
