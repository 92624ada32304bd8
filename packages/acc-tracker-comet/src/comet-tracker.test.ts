import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { RunInfo, RunStatus } from '@acc/contract';
import { trackerCasesFor, type TrackerSubject } from '@acc/testkit';
import { cometTracker, type CometHandle } from './comet-tracker.js';
import type { Experiment } from './offline-folder.js';

const said = vi.spyOn(console, 'log').mockReturnValue();

/** A file of an archive, found by the directory at the end of the archive. */
function fileIn(path: string, name: string): Buffer {
  const zip = readFileSync(path);
  const end = zip.lastIndexOf('PK\x05\x06');
  let at = zip.readUInt32LE(end + 16);
  for (let rest = zip.readUInt16LE(end + 10); rest > 0; rest--) {
    const [nameBytes, extraBytes] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30)];
    if (zip.toString('utf8', at + 46, at + 46 + nameBytes) === name) {
      const entry = zip.readUInt32LE(at + 42);
      const from = entry + 30 + zip.readUInt16LE(entry + 26) + zip.readUInt16LE(entry + 28);
      return zip.subarray(from, from + zip.readUInt32LE(at + 24));
    }
    at += 46 + nameBytes + extraBytes + zip.readUInt16LE(at + 32);
  }
  throw new Error(`${path} has no ${name}`);
}

function experimentIn(path: string): Experiment {
  return JSON.parse(String(fileIn(path, 'experiment.json'))) as Experiment;
}

interface Message {
  readonly type: string;
  readonly payload: {
    readonly file_path?: string;
    readonly metric?: {
      readonly metricName: string;
      readonly metricValue: number | string;
      readonly step: number;
    };
  };
}

function messagesIn(path: string): Message[] {
  const lines = String(fileIn(path, 'messages.json')).trimEnd().split('\n');
  return lines.filter(Boolean).map((line) => JSON.parse(line) as Message);
}

function archivesOf({ dir }: RunInfo): string[] {
  const folder = join(dir, 'comet');
  if (!existsSync(folder)) return [];
  const archives = readdirSync(folder).filter((name) => name.endsWith('.zip'));
  // The first one has no number.
  return archives.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).map((name) => join(folder, name));
}

const subject: TrackerSubject = {
  make: () => cometTracker(),
  makeWith: (options) => cometTracker(options),
  read(run) {
    const archives = archivesOf(run);
    const values = archives
      .flatMap(messagesIn)
      .filter(({ type }) => type === 'metric_msg')
      .map(({ payload: { metric } }) => ({
        name: metric!.metricName,
        step: metric!.step,
        value: Number(metric!.metricValue),
      }));
    const last = archives.at(-1);
    if (last === undefined) return { values };
    const { customer_error_message: failure } = experimentIn(last);
    return { values, status: (failure ?? 'completed') as RunStatus };
  },
};

describe('cometTracker passes the conformance case', () => {
  it.each(trackerCasesFor(subject).map((one) => [one.name, one] as const))('%s', async (_name, one) => {
    await one.run(subject);
  });
});

const run = (id: string, dir = mkdtempSync(join(tmpdir(), 'acc-comet-'))): RunInfo => {
  const tags = { sweep: '', team: 'a' };
  return { project: 'digits', id, name: `run ${id}`, tags, dir, startTimeMs: 5_000, rank: 0, size: 1 };
};
const stamp = { sequence: 7, timeMs: 6_000, signal: new AbortController().signal };

it('an archive has the experiment, its name, parameters, output, images, artifacts and models', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'acc-comet-archives-'));
  const tracker = cometTracker({ dir, workspace: 'team' });
  await tracker.start(run('a'));
  await tracker.log(1, { loss: NaN, 'system/cpu': 4 }, stamp);
  await tracker.logConfig!({ lr: 0.1, model: { layers: [3] } }, stamp);
  await tracker.logText!(1, 'note', 'hello', stamp);
  await tracker.logImage!(2, 'val/digit', { width: 1, height: 1, png: Uint8Array.of(7) }, stamp);
  const path = join(dir, 'weights');
  writeFileSync(path, 'content');
  const files = [{ name: 'a/weights', path, bytes: 7 }];
  const next = { ...stamp, sequence: 8 };
  await tracker.logArtifact!(3, { name: 'check point', type: 'checkpoint', files }, stamp);
  await tracker.logArtifact!(4, { name: 'net', type: 'model', files }, next);
  const { archive, experimentKey, uploadCommand } = tracker.client as CometHandle;
  await tracker.finish('failed');
  expect(archive).toBe(join(dir, `${experimentKey}.zip`));
  expect(said).toHaveBeenLastCalledWith(expect.stringContaining(uploadCommand));
  expect(experimentIn(archive)).toMatchObject({
    offline_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    project_name: 'digits',
    workspace: 'team',
    tags: ['sweep', 'team:a'],
    start_time: 5_000,
    resume_strategy: 'create',
    customer_error_reported: true,
    customer_error_message: 'failed',
  });
  const payloads = messagesIn(archive).map(({ type, payload }) => ({ type, ...payload }));
  const upload = { type: 'file_upload', local_timestamp: 6_000 };
  expect(payloads).toMatchObject([
    { type: 'log_other', key: 'Name', value: 'run a' },
    { metric: { metricName: 'loss', metricValue: 'NaN', step: 1 } },
    { metric: { metricName: 'sys.cpu', metricValue: 4 } },
    { type: 'parameter_msg', param: { paramName: 'lr', paramValue: 0.1 } },
    { type: 'parameter_msg', param: { paramName: 'model.layers', paramValue: '[3]' } },
    { type: 'standard_output', output: 'note: hello\n', stderr: false },
    { ...upload, upload_type: 'visualization', additional_params: { figName: 'val/digit', step: 2 } },
    { ...upload, upload_type: 'asset', additional_params: { fileName: 'check point/a/weights' } },
    {
      ...upload,
      upload_type: 'model-element',
      additional_params: { groupingName: 'net', fileName: 'net/a/weights' },
    },
  ]);
  const stored = payloads.slice(-3).map(({ file_path }) => file_path!);
  const contents = stored.map((name) => fileIn(archive, name));
  expect(contents.map(String)).toEqual(['\x07', 'content', 'content']);
});

it('a killed run continues its archive after a line that was cut; a resumed run has a further one', async () => {
  const killed = cometTracker();
  const of = run('b');
  await killed.start(of);
  await killed.log(1, { a: 1 }, stamp);
  appendFileSync(join(of.dir, 'comet/open/messages.json'), '{"type":"metr');
  for (const [step, status] of [
    [2, 'aborted'],
    [3, 'completed'],
  ] as const) {
    const tracker = cometTracker();
    await tracker.resume!(of, of.id);
    await tracker.log(step, { a: step }, stamp);
    await tracker.finish(status);
  }
  const archives = archivesOf(of);
  const found = archives.map((path) => [
    experimentIn(path).resume_strategy,
    messagesIn(path).flatMap(({ payload: { metric } }) => metric?.step ?? []),
  ]);
  expect(found).toEqual([
    ['create', [1, 2]],
    ['get', [3]],
  ]);
});

it('a call that is repeated while the first one goes on stores once', async () => {
  const of = run('d', mkdtempSync(join(tmpdir(), 'acc comet-')));
  const tracker = cometTracker();
  await tracker.start(of);
  const path = join(of.dir, 'weights');
  writeFileSync(path, 'content');
  const artifact = { name: 'net', type: 'model', files: [{ name: 'weights', path, bytes: 7 }] };
  const late = new AbortController();
  const first = tracker.logArtifact!(1, artifact, { ...stamp, signal: late.signal });
  late.abort();
  await expect(first).rejects.toThrow('aborted');
  await tracker.logArtifact!(1, artifact, stamp);
  const { archive, uploadCommand } = tracker.client as CometHandle;
  await Promise.all([tracker.finish('completed'), tracker.finish('completed')]);
  expect(messagesIn(archive).map(({ type }) => type)).toEqual(['log_other', 'file_upload']);
  expect(uploadCommand).toBe(`comet upload "${archive}"`);
  expect(readdirSync(join(of.dir, 'comet'))).toEqual([basename(archive)]);
});

it('a damaged folder of a killed run is named', async () => {
  const of = run('e');
  await cometTracker().start(of);
  const path = join(of.dir, 'comet/open/experiment.json');
  writeFileSync(path, '');
  await expect(cometTracker().resume!(of, of.id)).rejects.toMatchObject({
    code: 'ACC_TRACKER_REFUSED',
    message: expect.stringContaining(path) as string,
  });
});

it('reads the variables of Comet, and refuses empty texts', async () => {
  vi.stubEnv('COMET_PROJECT_NAME', 'named');
  const tracker = cometTracker();
  vi.unstubAllEnvs();
  const of = run('c');
  await tracker.start(of);
  await tracker.finish('completed');
  expect(experimentIn(archivesOf(of)[0]!)).toMatchObject({ project_name: 'named', workspace: null });
  expect(() => cometTracker({ dir: '' })).toThrow(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
});
