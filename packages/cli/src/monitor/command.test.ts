import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runAcc, startAcc } from '../../fixtures/run-acc.js';

const recorded = fileURLToPath(new URL('../../../records/src/testing/runs/', import.meta.url));

it('prints the address, and ends by a signal', async () => {
  const { child, ended } = startAcc(['monitor', join(recorded, 'ddp'), '--port', '0', '--no-open']);
  await once(child.stdout!, 'data');
  child.kill('SIGINT');
  const { stdout, stderr, code } = await ended;
  expect(stdout).toMatch(/^acc monitor shows 1 run: http:\/\/127\.0\.0\.1:\d+\/#[\w-]{32}\n/);
  expect([code, stderr]).toEqual([0, '']);
});

it('says what is missing, too old or taken', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-monitor-'));
  const old = join(folder, 'old', '1', 'insight');
  cpSync(join(recorded, 'ddp'), old, { recursive: true });
  writeFileSync(join(old, 'steps-rank-0.acc'), 'ACR0 and more');
  mkdirSync(join(folder, 'empty'));
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const cases = [
    [[join(folder, 'none')], 'ACC_RECORDS_MISSING', 'autoLog: true'],
    [[join(folder, 'empty')], 'ACC_RECORDS_MISSING', 'autoLog: true'],
    [[join(folder, 'old')], 'ACC_RECORDS_FORMAT', 'record the run again'],
    [[join(recorded, 'ddp'), '--port', String(port)], 'ACC_MONITOR_PORT', '--port 0'],
    [['--attach', '2147483647'], 'ACC_MONITOR_ATTACH', 'finds the job of this user'],
    [['--attach', join(recorded, 'ddp')], 'ACC_MONITOR_ATTACH', 'without --attach'],
    [['--attach', String(process.pid)], 'ACC_MONITOR_ATTACH', 'autoLog: true'],
    [['--port', '65536'], 'ACC_BAD_OPTION', 'monitor --help'],
  ] as const;
  const runs = await Promise.all(cases.map(([args]) => runAcc(['monitor', '--no-open', ...args])));
  other.close();
  for (const [i, [, code, next]] of cases.entries()) {
    expect(runs[i]).toMatchObject({ code: 2, stdout: '' });
    expect(runs[i]!.stderr).toContain(code);
    expect(runs[i]!.stderr).toContain(next);
  }
});
