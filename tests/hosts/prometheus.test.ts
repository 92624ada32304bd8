import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { poll } from '@acc/contract';
import { TestNetwork } from '@acc/testkit';
import { startRank, written } from './run-on-hosts.js';

const folder = mkdtempSync(join(tmpdir(), 'acc-prometheus-'));
const PORT = 9464;

let network: TestNetwork;
let query: (promql: string) => Promise<Sample[]>;

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [timeS: number, value: string];
}

/** A Prometheus server on the second host, which scrapes the training on the first one. */
beforeAll(async () => {
  network = await TestNetwork.create({ hosts: 2 });
  const [training, watching] = network.hosts;
  const config = join(folder, 'prometheus.yml');
  const scrape = `{ job_name: training, static_configs: [{ targets: ['${training!.address}:${PORT}'] }] }`;
  writeFileSync(
    config,
    `global: { scrape_interval: 200ms, scrape_timeout: 200ms }\nscrape_configs: [${scrape}]\n`,
  );
  const url = `${watching!.address}:9090`;
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=${url}`,
  ];
  network.spawn(watching!, 'prometheus', args, { stdio: 'ignore' });
  query = async (promql) => {
    const address = `http://${url}/api/v1/query?query=${encodeURIComponent(promql)}`;
    const child = network.spawn(watching!, 'curl', ['--silent', address], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let text = '';
    for await (const chunk of child.stdout!) text += String(chunk);
    return text === '' ? [] : (JSON.parse(text) as { data: { result: Sample[] } }).data.result;
  };
});
afterAll(async () => {
  await network?.dispose();
  rmSync(folder, { recursive: true, force: true });
});

async function until<T>(look: () => Promise<T>, isSo: (found: T) => boolean): Promise<T> {
  const find = async (): Promise<{ found: T } | undefined> => {
    const found = await look();
    return isSo(found) ? { found } : undefined;
  };
  return (await poll(find))!.found;
}

it('a Prometheus server on another host reads the last values of a running training', async () => {
  const go = join(folder, 'go');
  const { address } = network.hosts[0]!;
  const training = startRank(network, network.hosts[0]!, 'shown.ts', [address, go], {});
  await written(training, 'waiting');
  const valuesOf = async (gauge: string) => {
    const found = await query(gauge);
    return Object.fromEntries(
      found.map(({ metric, value }) => [metric['name'] ?? metric['status'], value[1]]),
    );
  };
  const values = await until(
    () => valuesOf('acc_metric'),
    (found) => 'loss' in found,
  );
  expect(values).toEqual({ loss: '0.25', 'val/accuracy': 'NaN' });
  expect(await valuesOf('acc_metric_step')).toEqual({ loss: '3', 'val/accuracy': '2' });
  expect(await valuesOf('acc_run_status')).toEqual({ running: '1' });
  const [{ metric }] = (await query('acc_metric{name="loss"}')) as [Sample];
  expect(metric).toMatchObject({ project: 'watched', run: 'first', instance: `${address}:${PORT}` });

  writeFileSync(go, '');
  const last = await until(
    () => valuesOf('acc_metric'),
    ({ loss }) => loss !== '0.25',
  );
  expect(last).toMatchObject({ loss: '0.125' });
  rmSync(go);
  const { code, output } = await training.ended;
  expect(code, output).toBe(0);
  await until(
    () => query('up'),
    ([up]) => up?.value[1] === '0',
  );
});
