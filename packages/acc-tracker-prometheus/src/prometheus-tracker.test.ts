import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunInfo, RunStatus } from '@acc/contract';
import { trackerCasesFor, type TrackerSubject } from '@acc/testkit';
import { prometheusTracker } from './prometheus-tracker.js';

const textfileDir = mkdtempSync(join(tmpdir(), 'acc-prometheus-'));

interface Sample {
  readonly gauge: string;
  readonly labels: Record<string, string>;
  readonly value: number;
}

/** Samples of Prometheus's text format. */
function samplesOf(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [, gauge, labels, value] = /^(\w+)\{(.*)\} (\S+)$/.exec(line)!;
    const pairs = Array.from(labels!.matchAll(/(\w+)="([^"]*)"/g), ([, key, of]) => [key!, of!]);
    const number = { Nan: NaN, '+Inf': Infinity, '-Inf': -Infinity }[value!] ?? Number(value);
    return { gauge: gauge!, labels: Object.fromEntries(pairs) as Record<string, string>, value: number };
  });
}

const subject: TrackerSubject = {
  make: () => prometheusTracker({ textfileDir }),
  makeWith: (options) => prometheusTracker(options),
  keeps: 'latest',
  read({ id }) {
    const path = join(textfileDir, `acc-${id}.prom`);
    const all = existsSync(path) ? samplesOf(readFileSync(path, 'utf8')) : [];
    const own = all.filter(({ labels }) => labels['run_id'] === id);
    const step = (name: string) =>
      own.find(({ gauge, labels }) => gauge === 'acc_metric_step' && labels['name'] === name)!.value;
    const values = own
      .filter(({ gauge }) => gauge === 'acc_metric')
      .map(({ labels, value }) => ({ name: labels['name']!, step: step(labels['name']!), value }));
    return {
      values,
      status: own.find(({ gauge }) => gauge === 'acc_run_status')?.labels['status'] as RunStatus,
    };
  },
};

describe('prometheusTracker passes the conformance case', () => {
  it.each(trackerCasesFor(subject).map((one) => [one.name, one] as const))('%s', async (_name, one) => {
    await one.run(subject);
  });
});

const run = (id: string): RunInfo => {
  const startTimeMs = Date.now();
  return { project: 'p', id, name: id, tags: {}, dir: tmpdir(), startTimeMs, rank: 0, size: 1 };
};

describe('the endpoint', () => {
  it('serves the last values during the run and closes when the run ends', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    const tracker = prometheusTracker({ port });
    await expect(tracker.start(run('a'))).rejects.toMatchObject({ code: 'ACC_PORT_TAKEN' });
    probe.close();
    await once(probe, 'close');
    await tracker.start(run('a'));
    const stamp = { sequence: 0, timeMs: 0, signal: new AbortController().signal };
    await tracker.log(1, { loss: 2 }, stamp);
    await tracker.log(2, { loss: 1, 'val/acc': 0.5 }, stamp);
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(response.headers.get('content-type')).toContain('version=0.0.4');
    const samples = samplesOf(await response.text());
    const shown = samples.map(({ gauge, labels, value }) => [
      gauge,
      labels['name'] ?? labels['status'],
      value,
    ]);
    expect(shown).toEqual([
      ['acc_metric', 'loss', 1],
      ['acc_metric', 'val/acc', 0.5],
      ['acc_metric_step', 'loss', 2],
      ['acc_metric_step', 'val/acc', 2],
      ['acc_run_status', 'running', 1],
    ]);
    expect((await fetch(`http://127.0.0.1:${port}/other`)).status).toBe(404);
    await tracker.finish('completed');
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
  });

  it.each([{ port: -1 }, { port: 1.5 }, { textfileDir: '/no/such' }])('refuses %j', (options) => {
    expect(() => prometheusTracker(options)).toThrow(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  });
});
