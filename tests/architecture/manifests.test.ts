import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesUnder, packages, programs, readText, root, type Manifest } from './reading/repository.js';

interface Published extends Manifest {
  readonly version: string;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly license?: string;
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string };
  readonly engines?: Readonly<Record<string, string>>;
  readonly publishConfig?: Readonly<Record<string, unknown>>;
}

const read = (folder: string) => JSON.parse(readText(join(folder, 'package.json'))) as Published;
const own = read('.');
const published = packages.map(({ folder }) => ({ folder, manifest: read(folder) }));
const lock = (
  JSON.parse(readText('package-lock.json')) as { packages: Record<string, Published | undefined> }
).packages;

/** The folders of the packages for which the condition is false. */
const failing = (condition: (manifest: Published, folder: string) => unknown): string[] =>
  published.filter(({ manifest, folder }) => !condition(manifest, folder)).map(({ folder }) => folder);

/** Values that several packages have. */
const repeated = (values: readonly unknown[]): unknown[] =>
  values.filter((value, i) => values.indexOf(value) !== i);

describe('what npm shows of each package', () => {
  it('is a description of its own', () => {
    expect(published.length).toBeGreaterThan(30);
    expect(failing(({ description = '' }) => description.length >= 40 && description.length <= 200)).toEqual(
      [],
    );
    expect(failing(({ description = '' }) => /TensorFlow(\.js)?|tfjs|Node\.js/.test(description))).toEqual(
      [],
    );
    expect(repeated(published.map(({ manifest }) => manifest.description))).toEqual([]);
  });

  it("is keywords of the field, which people search for, beside the library's", () => {
    const shared = ['tensorflow.js', 'tfjs', 'accelerate'];
    const ownWords = ({ keywords = [] }: Published) => keywords.filter((word) => !shared.includes(word));
    expect(failing(({ keywords = [] }) => shared.every((word) => keywords.includes(word)))).toEqual([]);
    expect(failing((manifest) => ownWords(manifest).length >= 5)).toEqual([]);
    expect(failing(({ keywords = [] }) => repeated(keywords).length === 0)).toEqual([]);
    expect(failing(({ keywords = [] }) => keywords.every((word) => /^[a-z0-9.-]+$/.test(word)))).toEqual([]);
    expect(repeated(published.map(({ manifest }) => ownWords(manifest).sort().join()))).toEqual([]);
  });

  it('is found for a tracker by the keyword that trackers share', () => {
    const trackers = published.filter(({ folder }) => /\/(acc-)?tracker-/.test(folder));
    expect(trackers.length).toBeGreaterThanOrEqual(5);
    expect(trackers.filter(({ manifest }) => !manifest.keywords?.includes('acc-tracker'))).toEqual([]);
  });

  it('is license, source, engines and proof of its origin', () => {
    expect(failing(({ license }) => license === own.license)).toEqual([]);
    expect(own.repository?.url).toMatch(/^git\+https:\/\/.*\.git$/);
    for (const { folder, manifest } of published) {
      expect(manifest.repository, folder).toEqual({ ...own.repository, directory: folder });
      expect(manifest.engines, folder).toEqual(own.engines);
      expect(manifest.publishConfig, folder).toEqual({ access: 'public', provenance: true });
      expect(manifest.private, folder).toBeUndefined();
      expect(existsSync(join(root, folder, 'README.md')), folder).toBe(true);
    }
  });
});

describe('versions', () => {
  const [version] = published.map(({ manifest }) => manifest.version);
  const isOurs = (name: string) => published.some(({ manifest }) => manifest.name === name);

  it('are the same in all packages', () => {
    expect(version).toMatch(/^\d+\.\d+\.\d+(-beta\.\d+)?$/);
    expect(failing((manifest) => manifest.version === version)).toEqual([]);
  });

  it('of our packages in others are exactly this one, or begin with it for peers', () => {
    let seen = 0;
    const all = [...published, ...programs.map(({ folder }) => ({ folder, manifest: read(folder) }))];
    const others = all.flatMap(({ folder, manifest }) => {
      const { dependencies = {}, devDependencies = {}, peerDependencies = {} } = manifest;
      const exact = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => isOurs(name));
      const peers = Object.entries(peerDependencies).filter(([name]) => isOurs(name));
      seen += exact.length + peers.length;
      return [
        ...exact.filter(([, range]) => range !== version),
        ...peers.filter(([, range]) => range !== `^${version}`),
      ].map(([name, range]) => `${folder}: ${name} ${range}`);
    });
    expect(others).toEqual([]);
    expect(seen).toBeGreaterThan(80);
  });

  it('in package-lock.json are those of the packages', () => {
    const inLock = (folder: string) => lock[folder] ?? ({} as Partial<Published>);
    expect(failing((manifest, folder) => inLock(folder).version === manifest.version)).toEqual([]);
    for (const { folder, manifest } of published) {
      expect(inLock(folder).dependencies, folder).toEqual(manifest.dependencies);
      expect(inLock(folder).peerDependencies, folder).toEqual(manifest.peerDependencies);
    }
  });

  it('each have an entry in CHANGELOG.md; a new package has a changeset', () => {
    const changesets = filesUnder('.changeset', ['.md']).map(readText);
    const isWaiting = ({ name }: Published) => changesets.some((text) => text.includes(`'${name}':`));
    const isThere = (folder: string) => existsSync(join(root, folder, 'CHANGELOG.md'));
    const isTold = (manifest: Published, folder: string) =>
      isThere(folder)
        ? readText(`${folder}/CHANGELOG.md`).includes(`\n## ${version}\n`)
        : isWaiting(manifest);
    expect(failing(isTold)).toEqual([]);
  });
});
