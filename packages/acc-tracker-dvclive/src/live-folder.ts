import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AccError, type MetricsRow, type RunConfig, type TrackedArtifact } from '@acc/contract';
import { parse, stringify } from 'yaml';
import { latestOf, summaryOf, type Tree } from './summary.js';
import { TsvFiles } from './tsv-files.js';

const DESCRIPTION = 'dvc.yaml';
const METRICS = 'metrics.json';
const PARAMS = 'params.yaml';
const CURVES = 'plots/metrics';
const IMAGES = 'plots/images';
const ARTIFACTS = 'artifacts';
const MARK = '# Written by acc-tracker-dvclive, run ';

/** By ids. `desc` is the name, if it differs from the id. */
type Artifacts = Record<string, { readonly path: string; readonly type: string; readonly desc?: string }>;

/** The files of one run in DVCLive's layout, and the `dvc.yaml` that describes them. */
export class LiveFolder {
  readonly #dir: string;
  readonly #runId: string;
  readonly #curves: TsvFiles;
  #latest = new Map<string, number>();
  #artifacts: Artifacts = {};
  #copies = 0;

  private constructor(dir: string, runId: string) {
    this.#dir = dir;
    this.#runId = runId;
    this.#curves = new TsvFiles(join(dir, CURVES));
  }

  /**
   * Begins a run. Removes the files of the run before it.
   *
   * @throws AccError `ACC_INVALID_OPTION` if the folder has files that no run wrote.
   */
  static begin(dir: string, runId: string): LiveFolder {
    if (existsSync(dir) && readdirSync(dir).length > 0 && runIn(dir) === undefined) {
      throw new AccError('ACC_INVALID_OPTION', `dvclive: ${dir} has files that this tracker did not write.`, {
        help: 'Give a dir that does not exist yet, such as dvclive.',
      });
    }
    for (const name of ['plots', METRICS, PARAMS, ARTIFACTS]) {
      rmSync(join(dir, name), { recursive: true, force: true });
    }
    mkdirSync(dir, { recursive: true });
    const folder = new LiveFolder(dir, runId);
    folder.#describe();
    return folder;
  }

  /**
   * Continues a run. Begins it, if it was recorded elsewhere and there is none here.
   *
   * @throws AccError `ACC_TRACKER_REFUSED` if the files are damaged, and as {@link begin}.
   */
  static goOn(dir: string, runId: string): LiveFolder {
    const found = runIn(dir);
    if (found === undefined) return LiveFolder.begin(dir, runId);
    const folder = new LiveFolder(dir, runId);
    if (found === runId) folder.#readBack();
    return folder;
  }

  #readBack(): void {
    this.#curves.mend();
    removeCopies(join(this.#dir, ARTIFACTS));
    this.#latest = latestOf((read(this.#dir, METRICS, JSON.parse) ?? {}) as Tree);
    const description = read(this.#dir, DESCRIPTION, parse) as { artifacts?: Artifacts } | null;
    this.#artifacts = description?.artifacts ?? {};
  }

  /**
   * A later run may have taken the folder, also while this one goes on. The end of this one, for example
   * of a process that was killed, needs no file.
   *
   * @throws AccError `ACC_TRACKER_REFUSED`.
   */
  #requireOwn(): void {
    const found = runIn(this.#dir);
    if (found === this.#runId) return;
    const has = found === undefined ? 'no run' : `the run ${found}`;
    throw new AccError('ACC_TRACKER_REFUSED', `${this.#dir} has ${has} by now, not ${this.#runId}.`, {
      help: 'Leave out dir: each run then has a folder of its own. Or begin a new run.',
    });
  }

  /** Adds rows to the curves, and the last values to `metrics.json`. */
  addRows(rows: readonly Pick<MetricsRow, 'step' | 'metrics'>[]): void {
    this.#requireOwn();
    const points = new Map<string, [number, number][]>();
    const latest = new Map(this.#latest);
    for (const { step, metrics } of rows) {
      for (const [name, value] of Object.entries(metrics)) {
        requireFileName(name);
        if (!points.has(name)) points.set(name, []);
        points.get(name)!.push([step, value]);
        latest.set(name, value);
      }
    }
    const step = rows.at(-1)!.step;
    const isFirst = this.#latest.size === 0;
    this.#curves.append(points, () => {
      this.#write(METRICS, `${JSON.stringify(summaryOf(latest, step), null, 4)}\n`);
      if (isFirst) this.#describe();
    });
    this.#latest = latest;
  }

  writeParams(config: RunConfig): void {
    this.#requireOwn();
    this.#write(PARAMS, stringify(config));
    this.#describe();
  }

  addImage(key: string, step: number, png: Uint8Array): void {
    this.#requireOwn();
    requireFileName(key);
    this.#write(`${IMAGES}/${key}/${step}.png`, png);
    this.#describe();
  }

  /** Copies the files, in place of those of an earlier artifact of this name. */
  async addArtifact({ name, type, files }: TrackedArtifact, signal: AbortSignal): Promise<void> {
    this.#requireOwn();
    const id = artifactId(name);
    this.#requireUnused(id, name);
    const path = `${ARTIFACTS}/${id}`;
    // The files may be those of the earlier artifact, so it stays until they are copied.
    const temporary = join(this.#dir, `${path}.tmp${this.#copies++}`);
    try {
      await mkdir(temporary, { recursive: true });
      for (const file of files) {
        signal.throwIfAborted();
        const target = join(temporary, file.name);
        await mkdir(dirname(target), { recursive: true });
        await copyFile(file.path, target);
      }
      // A call that took too long is repeated, and only the repeated one replaces the artifact.
      signal.throwIfAborted();
      rmSync(join(this.#dir, path), { recursive: true, force: true });
      renameSync(temporary, join(this.#dir, path));
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      throw error;
    }
    this.#artifacts = { ...this.#artifacts, [id]: { path, type, ...(name !== id && { desc: name }) } };
    this.#describe();
  }

  /** @throws AccError `ACC_TRACKER_REFUSED` if an artifact of another name has the id. */
  #requireUnused(id: string, name: string): void {
    const found = this.#artifacts[id];
    if (!found || (found.desc ?? id) === name) return;
    const names = `'${found.desc ?? id}' and '${name}'`;
    throw new AccError('ACC_TRACKER_REFUSED', `The artifacts ${names} would both be '${id}' in DVC.`, {
      help: 'Use names of small letters, digits and hyphens.',
    });
  }

  /** Writes the `dvc.yaml` that tells DVC which of the files exist. */
  #describe(): void {
    const has = (name: string) => existsSync(join(this.#dir, name));
    const plots = [...(has(CURVES) ? [{ [CURVES]: { x: 'step' } }] : []), ...(has(IMAGES) ? [IMAGES] : [])];
    const description = {
      ...(has(PARAMS) && { params: [PARAMS] }),
      ...(has(METRICS) && { metrics: [METRICS] }),
      ...(plots.length > 0 && { plots }),
      ...(Object.keys(this.#artifacts).length > 0 && { artifacts: this.#artifacts }),
    };
    this.#write(DESCRIPTION, `${MARK}${this.#runId}.\n${stringify(description)}`);
  }

  /** Replaces a file in one step: readers never see half of it. */
  #write(name: string, content: string | Uint8Array): void {
    const path = join(this.#dir, name);
    mkdirSync(dirname(path), { recursive: true });
    try {
      writeFileSync(`${path}.tmp`, content);
      renameSync(`${path}.tmp`, path);
    } catch (error) {
      rmSync(`${path}.tmp`, { force: true });
      throw error;
    }
  }
}

/** The content of a file. Undefined if it does not exist. */
function read(dir: string, name: string, parsed: (text: string) => unknown): unknown {
  const path = join(dir, name);
  if (!existsSync(path)) return undefined;
  try {
    return parsed(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new AccError('ACC_TRACKER_REFUSED', `${path} is damaged, so the run cannot go on.`, {
      help: 'Restore it, or begin a new run.',
      cause,
    });
  }
}

/** Removes copies of artifacts that a killed process began. */
function removeCopies(dir: string): void {
  const begun = existsSync(dir) ? readdirSync(dir).filter((name) => /\.tmp\d+$/.test(name)) : [];
  for (const name of begun) rmSync(join(dir, name), { recursive: true, force: true });
}

/** The id of the run in a folder. */
function runIn(dir: string): string | undefined {
  const path = join(dir, DESCRIPTION);
  const first = existsSync(path) ? readFileSync(path, 'utf8').split('\n', 1)[0]! : '';
  return first.startsWith(MARK) ? first.slice(MARK.length, -1) : undefined;
}

function requireFileName(name: string): void {
  if (!name.split(/[/\\]/).some((part) => part === '' || part === '.' || part === '..')) return;
  throw new AccError(
    'ACC_TRACKER_REFUSED',
    `DVCLive has a file for each name, and '${name}' cannot be one.`,
    {
      help: 'Use a name without empty parts, . and .. between slashes.',
    },
  );
}

/** DVC takes small letters, digits and hyphens. */
function artifactId(name: string): string {
  const id = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return id.replaceAll(/^-|-$/g, '') || 'artifact';
}
