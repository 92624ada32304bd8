import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../process.mjs';
import { runCommand } from './child.mjs';
import { preparedLibtorch } from './prepare.mjs';
import { shardEnvironment } from './shard.mjs';
import { countReport } from './vitest-report.mjs';

const VITEST = join(root, 'node_modules', 'vitest', 'vitest.mjs');

/**
 * Runs test files of a project in one process of vitest.
 *
 * @param {{project: string, files: readonly string[], args?: readonly string[], env?: object,
 * signal: AbortSignal}} options args and env: more of them for vitest.
 * @returns {Promise<object>} passed, failed, failures and output.
 */
export async function runShard({ project, files, args = [], env: given = {}, signal }) {
  const libtorch = project === 'pure' ? {} : { ACC_LIBTORCH: preparedLibtorch() };
  const env = { ...shardEnvironment(project, files), ...libtorch, ...given };
  return runVitest(['--maxWorkers=1', ...args], { files, env, signal });
}

/**
 * Runs vitest with a folder of its own for temporary files. The counts are read from a file, so the
 * output is that of the usual reporter.
 *
 * @param {readonly string[]} args
 * @param {{files?: readonly string[], env?: object, signal: AbortSignal}} options files: those that
 * have to be in the report.
 */
export async function runVitest(args, { files = [], env = {}, signal }) {
  const folder = mkdtempSync(join(tmpdir(), 'acc-tests-'));
  chmodSync(folder, 0o755); // Servers run as users of their own.
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  try {
    const { code, output } = await runCommand(process.execPath, [VITEST, 'run', ...args, ...reporters], {
      env: { ...env, TMPDIR: folder },
      signal,
    });
    if (existsSync(report)) {
      return { output, ...countReport(JSON.parse(readFileSync(report, 'utf8')), code, files) };
    }
    const why = `vitest ended with code ${code} and wrote no report`;
    return { passed: 0, failed: 1, output, failures: [`✗ ${[why, ...files].join('\n')}`] };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
